"""What the chat commands do.

Each returns the text of its answer; those of the lane run inside the lane's transaction.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, update

from agent_core.budget.pots import OwnPots, Rules
from agent_core.storage.tables import Turn
from agent_core.tools.alerts import NewAlert
from channels.types import Address, Author
from gateway.alerts.desk import AlertDesk
from gateway.budgets.budgets import Budgets
from gateway.commands import alert as commands_alert
from gateway.commands import archive as commands_archive
from gateway.commands import budget as commands_budget
from gateway.commands import context as commands_context
from gateway.commands import halt as commands_halt
from gateway.commands import link as commands_link
from gateway.commands import memory as commands_memory
from gateway.commands import remind as commands_remind
from gateway.commands import session as commands_session
from gateway.commands import skills as commands_skills
from gateway.commands import usage as commands_usage
from gateway.engine.begin import INTERRUPTING, STOPPING
from gateway.inbound import conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.router import Route
from gateway.model_house import ModelHouse
from gateway.outbound import parked
from gateway.outbound.draft import Draft
from gateway.people import identity, roles
from gateway.people.identity import Language
from gateway.presets.team_house import TeamHouse
from gateway.questions import questions, waiting
from gateway.recipes.recipes import Recipes, named
from gateway.settings.access import Access
from gateway.settings.groups import Groups
from gateway.tasks.commands import Panel
from gateway.texts.texts import has, say

_TURN = Turn.__table__  # type: ignore[attr-defined]
MENU = (
    *("new", "stop", "status", "sessions", "resume", "fork", "undo", "retry"),
    *(
        "model",
        "preset",
        "thinking",
        "language",
        "remind",
        "alert",
        "link",
        "memory",
        "forget",
        "usage",
        "budget",
        "why",
        "compact",
        "archive",
        "skills",
        "halt",
        "approve",
        "deny",
        "help",
    ),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what, where. `row_id` is the inbox row.

    A command that says something elsewhere, too, puts it into `also`; its drafts are stored in the same transaction.
    `looked` is what was found for a command before its transaction: a new alert, or why it cannot be.
    """

    lane: Lane
    person: str
    language: Language
    route: Route
    now: dt.datetime
    row_id: int = 0
    name: str = ""
    zone: str = "UTC"
    also: list[Draft] = field(default_factory=list)
    looked: NewAlert | str | None = None

    def local(self, at: dt.datetime) -> dt.datetime:
        """A time as the installation's people read it."""
        return at.astimezone(ZoneInfo(self.zone))


@dataclass(slots=True)
class Commands:
    """The commands with what they need to know."""

    access: Access
    models: ModelHouse
    teams: TeamHouse
    busy: Callable[[], int]
    uptime: Callable[[], float]
    timezone: str = "UTC"
    groups: Groups = field(default_factory=Groups)
    archives: Callable[[Address], bool] = lambda _: False
    budgets: Budgets | None = None
    tasks: Panel | None = None
    alerts: AlertDesk | None = None
    halt_file: Path | None = None
    halted: Callable[[], None] = lambda: None
    recipes: Recipes | None = None
    _handlers: dict[str, Callable[[Connection, Asked], str]] = field(init=False)

    def __post_init__(self) -> None:
        self._handlers = {
            "start": self._start,
            "help": self._help,
            "status": self._status,
            "stop": self._stop,
            "new": self._new,
            "model": self._model,
            "preset": self._preset,
            **commands_session.handlers(),
            **commands_remind.handlers(),
            **commands_alert.handlers(),
            **commands_link.handlers(),
            **commands_archive.handlers(),
            **commands_context.handlers(),
            **commands_memory.handlers(),
            **commands_usage.handlers(),
            **commands_budget.handlers(
                self.budgets.rules if self.budgets else Rules(), self._own_pots
            ),
            **commands_halt.handlers(self.access, self.halt_file, self.halted),
            **commands_skills.handlers(lambda: self.recipes),
        }

    def run(self, conn: Connection, asked: Asked) -> str:
        """Carry out a command; the answer is in the person's language."""
        handler = self._handlers.get(asked.route.name)
        if handler is None:
            return say("unknown_command", asked.language, name=asked.route.name)
        return handler(conn, replace(asked, zone=self.timezone))

    async def look(self, asked: Asked) -> Asked:
        """With what a command needs to know before its transaction: prices, for a new alert."""
        words = commands_alert.rule_in(asked.route.rest) if asked.route.name == "alert" else ""
        if not words or self.alerts is None:
            return asked
        return replace(asked, looked=await self.alerts.look(words, asked.language))

    def _own_pots(self, lane: Lane) -> OwnPots:
        is_lite = self.groups.is_lite(lane.address, private=lane.private)
        team = self.teams.find("solo" if is_lite else lane.preset)
        return team.pots if team else OwnPots()

    def menu(self, language: Language) -> Sequence[tuple[str, str]]:
        """(name, description) pairs in the order of the menu; skills and templates come last."""
        own = [(name, say(f"help_{name}", language)) for name in MENU]
        return [*own, *(self.recipes.menu(language) if self.recipes else ())]

    def calls(self, conn: Connection, lane: Lane, person: str, text: str) -> bool:
        """Whether a message calls a skill or a template, which then is a turn."""
        if self.recipes is None or named(text) is None:
            return False
        if self.groups.is_lite(lane.address, private=lane.private):
            return False
        return self.recipes.called(text, identity.principal_of(conn, person)) is not None

    async def complete(self, command: str, typed: str, author: Author) -> Sequence[tuple[str, str]]:
        """(shown, value) pairs for an argument that a person begins to type: presets and models."""
        del author
        if command == "preset":
            found = [(f"{team.name} — {team.title}", team.name) for team in self.teams.all()]
        elif command == "model":
            found = [(name, name) for name in self.models.choices()]
        else:
            return ()
        return [pair for pair in found if typed.lower() in pair[0].lower()]

    def _start(self, _conn: Connection, asked: Asked) -> str:
        return say("start", asked.language)

    def _help(self, conn: Connection, asked: Asked) -> str:
        """All commands with the person's skills, one a line; with a name, how that one is used (MSC-9)."""
        wanted, owner = asked.route.rest.lower().lstrip("/!"), ""
        texts = dict(self.menu(asked.language))
        if self.recipes is not None:
            owner = identity.principal_of(conn, asked.person)
            texts |= dict(self.recipes.listed(owner, asked.language))
        if wanted in texts:
            use = say(f"use_{wanted}", asked.language) if has(f"use_{wanted}") else f"`/{wanted}`"
            if self.recipes is not None and wanted not in MENU:
                use = self.recipes.usage(wanted, owner, asked.language)
            return f"/{wanted} — {texts[wanted]}\n\n{use}"
        lines = [f"- /{name} — {text}" for name, text in texts.items()]
        head, more = say("help_head", asked.language), say("more_help", asked.language)
        return "\n".join([head, "", *lines, "", more])

    def _status(self, conn: Connection, asked: Asked) -> str:
        running = inbox.running_turn(conn, asked.lane.id) is not None
        status = say(
            "status",
            asked.language,
            preset=self.teams.name_for(asked.lane.preset),
            model=asked.lane.model or self.models.default,
            here=say(self._here(asked.lane.id, running=running), asked.language),
            waiting=inbox.waiting(conn, asked.lane.id),
            busy=self.busy(),
            uptime=str(dt.timedelta(seconds=int(self.uptime()))),
        )
        if self.access.role(asked.person) == "operator" and (count := parked.count(conn)):
            status += "\n" + say("status_parked", asked.language, count=count)
        if commands_halt.halted(conn, self.halt_file):
            status += "\n" + say("status_halted", asked.language)
        if self.tasks is not None and (panel := self.tasks.draft(conn, asked)) is not None:
            asked.also.append(panel)
        return status

    def _here(self, lane: str, *, running: bool) -> str:
        if running and self.budgets is not None and self.budgets.waiters.holds(lane):
            return "budget_here"
        return "yes" if running else "no"

    def _stop(self, conn: Connection, asked: Asked) -> str:
        """Mark the running turn; empty when it is being stopped, since its own last message says so."""
        return request_stop(conn, asked, self.access)

    def _new(self, conn: Connection, asked: Asked) -> str:
        return commands_session.new(conn, asked, archives=self.archives(asked.lane.address))

    def _model(self, conn: Connection, asked: Asked) -> str:
        name, language = asked.route.rest, asked.language
        role = roles.role_of(conn, self.access, asked.person)
        allowed = [m for m in self.models.choices() if self.access.may_choose(role, m)]
        choices = ", ".join(allowed)
        if not name:
            return say(
                "model_now",
                language,
                model=asked.lane.model or self.models.default,
                choices=choices,
            )
        if not self.models.known(name):
            return say("model_unknown", language, name=name, choices=choices)
        if not self.access.may_choose(role, name):
            return say("model_not_allowed", language, name=name, choices=choices)
        conversation.choose(conn, asked.lane.id, model="" if name == "auto" else name)
        return say("model_set", language, model=self.models.default if name == "auto" else name)

    def _preset(self, conn: Connection, asked: Asked) -> str:
        name, language = asked.route.rest, asked.language
        if self.groups.is_lite(asked.lane.address, private=asked.lane.private):
            return say("lite_preset", language)
        lines = [f"- {team.name} — {team.title or team.description}" for team in self.teams.all()]
        lines += [
            "- " + say("preset_broken", language, problem=problem)
            for problem in self.teams.first_problems()
        ]
        choices = "\n".join(lines)
        if not name:
            current = self.teams.name_for(asked.lane.preset)
            return say("preset_now", language, preset=current, choices=choices)
        if self.teams.find(name) is None:
            return say("preset_unknown", language, name=name, choices=choices)
        conversation.choose(conn, asked.lane.id, preset=name)
        return say("preset_set", language, preset=name)


def request_stop(conn: Connection, asked: Asked, access: Access, turn_id: int | None = None) -> str:
    """Mark a conversation's running turn as stopping. Returns why not, or "" when it is marked.

    Only the turn's principal or an operator may stop it. A button names its turn, so an old one
    stops nothing else.
    """
    running = inbox.running_turn(conn, asked.lane.id)
    if running is None:
        running = waiting.turn_of(conn, asked.lane.id)
    if running is None or (turn_id is not None and running != turn_id):
        return say("nothing_runs", asked.language)
    principal = conn.execute(_TURN.select().where(_TURN.c.id == running)).one().principal
    if (
        identity.principal_of(conn, asked.person) != principal
        and access.role(asked.person) != "operator"
    ):
        return say("not_yours", asked.language)
    questions.cancel_turn(conn, asked.lane.id, running, asked.now)
    if waiting.resume(conn, running, "stopping"):
        return ""  # it waited for a person; now it goes on to its end
    still = _TURN.c.status.in_(("running", "waiting", *STOPPING))  # it may be ending right now
    mark = update(_TURN).where(_TURN.c.id == running, still).values(status="stopping")
    marked = conn.execute(mark.returning(_TURN.c.id)).first()
    return say("nothing_runs", asked.language) if marked is None else ""


def interrupt(conn: Connection, lane_id: str, person: str) -> bool:
    """Mark the running turn of a conversation as ended by its author's next message; false when it is not theirs.

    A turn that waits for a person's answer goes on waiting.
    """
    running = inbox.running_turn(conn, lane_id)
    if running is None:
        return False
    mark = (
        update(_TURN)
        .where(
            _TURN.c.id == running,
            _TURN.c.status == "running",
            _TURN.c.principal == identity.principal_of(conn, person),
        )
        .values(status=INTERRUPTING)
        .returning(_TURN.c.id)
    )
    return conn.execute(mark).first() is not None
