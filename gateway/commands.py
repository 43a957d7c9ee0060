"""What the chat commands do. Each returns the text of its answer; those of the lane run inside the lane's transaction."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, update

from agent_core.storage.tables import Turn
from gateway import conversation, inbox
from gateway.conversation import Lane
from gateway.identity import Language
from gateway.model_house import ModelHouse
from gateway.router import Route
from gateway.settings_access import Access
from gateway.team_house import TeamHouse
from gateway.texts import say

_TURN = Turn.__table__  # type: ignore[attr-defined]
MENU = ("new", "stop", "status", "model", "preset", "help")


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what, where."""

    lane: Lane
    person: str
    language: Language
    route: Route
    now: dt.datetime


@dataclass(slots=True)
class Commands:
    """The commands with what they need to know."""

    access: Access
    models: ModelHouse
    teams: TeamHouse
    busy: Callable[[], int]
    uptime: Callable[[], float]
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
        }

    def run(self, conn: Connection, asked: Asked) -> str:
        """Carry out a command; the answer is in the person's language."""
        handler = self._handlers.get(asked.route.name)
        if handler is None:
            return say("unknown_command", asked.language, name=asked.route.name)
        return handler(conn, asked)

    def menu(self, language: Language) -> Sequence[tuple[str, str]]:
        """(name, description) pairs in the order of the menu."""
        return [(name, say(f"help_{name}", language)) for name in MENU]

    def _start(self, _conn: Connection, asked: Asked) -> str:
        return say("start", asked.language)

    def _help(self, _conn: Connection, asked: Asked) -> str:
        lines = [f"- /{name} — {text}" for name, text in self.menu(asked.language)]
        return "\n".join([say("help_head", asked.language), "", *lines])

    def _status(self, conn: Connection, asked: Asked) -> str:
        running = inbox.running_turn(conn, asked.lane.id) is not None
        return say(
            "status",
            asked.language,
            preset=self.teams.name_for(asked.lane.preset),
            model=asked.lane.model or self.models.default,
            here=say("yes" if running else "no", asked.language),
            waiting=inbox.waiting(conn, asked.lane.id),
            busy=self.busy(),
            uptime=str(dt.timedelta(seconds=int(self.uptime()))),
        )

    def _stop(self, conn: Connection, asked: Asked) -> str:
        """Mark the running turn; empty when it is being stopped, since its own last message says so."""
        return request_stop(conn, asked, self.access)

    def _new(self, conn: Connection, asked: Asked) -> str:
        conversation.renew(conn, asked.lane, asked.person, asked.now)
        return say("new", asked.language)

    def _model(self, conn: Connection, asked: Asked) -> str:
        name, language = asked.route.rest, asked.language
        allowed = [m for m in self.models.choices() if self.access.may_choose(asked.person, m)]
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
        if not self.access.may_choose(asked.person, name):
            return say("model_not_allowed", language, name=name, choices=choices)
        conversation.choose(conn, asked.lane.id, model="" if name == "auto" else name)
        return say("model_set", language, model=self.models.default if name == "auto" else name)

    def _preset(self, conn: Connection, asked: Asked) -> str:
        name, language = asked.route.rest, asked.language
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

    Only the turn's principal or an operator may stop it. A button names its turn, so an old one stops nothing else.
    """
    running = inbox.running_turn(conn, asked.lane.id)
    if running is None or (turn_id is not None and running != turn_id):
        return say("nothing_runs", asked.language)
    principal = conn.execute(_TURN.select().where(_TURN.c.id == running)).one().principal
    if asked.person != principal and access.role(asked.person) != "operator":
        return say("not_yours", asked.language)
    still = _TURN.c.status.in_(("running", "waiting", "stopping"))  # it may be ending right now
    mark = update(_TURN).where(_TURN.c.id == running, still).values(status="stopping")
    marked = conn.execute(mark.returning(_TURN.c.id)).first()
    return say("nothing_runs", asked.language) if marked is None else ""
