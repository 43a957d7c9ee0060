"""/skills: what there is, and a person's own (SKL-3). They are files that nothing but these commands writes."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from agent_core.instructions import Skill
from agent_core.runtime.recipes import MOST_CHARS, NAME, BadRecipe
from gateway.inbound.router import ALIASES, COMMANDS
from gateway.people import identity
from gateway.recipes.own_skills import MOST, OwnSkills, TooMany
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked
    from gateway.recipes.recipes import Recipes


def handlers(
    recipes: "Callable[[], Recipes | None]",
) -> "dict[str, Callable[[Connection, Asked], str]]":
    """The command; `recipes` gives what there is when it runs."""

    def run(conn: Connection, asked: "Asked") -> str:
        known = recipes()
        if known is None:
            return say("skills_unknown", asked.language, name="")
        owner = identity.principal_of(conn, asked.person)
        word, rest = [*asked.route.rest.split(maxsplit=1), "", ""][:2]
        return _do(known, asked, owner, word.lower(), rest.strip())

    return {"skills": run}


def _do(known: "Recipes", asked: "Asked", owner: str, word: str, rest: str) -> str:
    own = known.skills.own
    if not word:
        return "\n".join(_listing(known, asked, owner))
    if word == "show":
        return _show(known, asked, owner, rest.lower())
    if own is None or word not in ("add", "remove"):
        return say("how_to", asked.language, use=say("use_skills", asked.language))
    if not asked.lane.private:
        return say("skills_private", asked.language)
    if word == "remove":
        code = "skills_removed" if own.remove(owner, rest.lower()) else "skills_not_own"
        return say(code, asked.language, name=f"`{rest[:70]}`")
    return _add(known, own, asked, owner, rest)


def _listing(known: "Recipes", asked: "Asked", owner: str) -> Iterator[str]:
    language = asked.language
    mine = known.skills.all(owner if asked.lane.private else "")
    yield say("skills_head", language)
    yield ""
    yield from (_entry(one, asked) for one in mine if one.origin != "own")
    own = [_entry(one, asked) for one in mine if one.origin == "own"]
    if own:
        yield from ("", say("skills_own", language), "", *own)
    if known.templates.all:
        yield from ("", say("skills_templates", language), "")
        for one in known.templates.all.values():
            text = one.description(language)
            yield say("skills_entry", language, name=one.command, text=text)
    yield from ("", say("skills_more", language))


def _entry(one: Skill, asked: "Asked") -> str:
    bare = one.command in COMMANDS or one.command in ALIASES
    code, name = ("skills_entry_bare", one.name) if bare else ("skills_entry", one.command)
    return say(code, asked.language, name=name, text=one.description(asked.language))


def _show(known: "Recipes", asked: "Asked", owner: str, name: str) -> str:
    found = known.skills.find(owner, name)
    if found is None:
        return say("skills_unknown", asked.language, name=f"`{name[:70]}`")
    return f"**{found.name}** — {found.description(asked.language)}\n\n{found.body(asked.language, '{user_input}')}"


def _add(known: "Recipes", own: OwnSkills, asked: "Asked", owner: str, rest: str) -> str:
    language = asked.language
    name, _, text = rest.partition("\n")
    name = name.strip().lower()
    if not name or not text.strip():
        return say("how_to", language, use=say("use_skills", language))
    if refused := _refused(name, text.strip(), asked):
        return refused
    shared = name in known.skills.shared
    try:
        made = own.add(owner, name, text.strip())
    except BadRecipe as e:
        return say("skills_bad", language, problem=e)
    except TooMany:
        return say("skills_many", language, limit=MOST)
    said = say("skills_added", language, name=name, command=made.command)
    return f"{said}\n\n{say('skills_replaces', language)}" if shared else said


def _refused(name: str, text: str, asked: "Asked") -> str:
    """Why a skill of this name and text is not kept, "" where it may be."""
    language, shown = asked.language, f"`{name[:70]}`"
    if not NAME.fullmatch(name):
        return say("skills_name", language, name=shown)
    if name.replace("-", "_") in COMMANDS | ALIASES.keys():
        return say("skills_command", language, name=shown)
    if len(text) > MOST_CHARS:
        return say("skills_long", language, chars=len(text), limit=MOST_CHARS)
    return ""
