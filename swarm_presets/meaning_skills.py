"""Skills that a preset names: they exist (SW209), routes lead to usable ones (SW307), no list is in vain (SW406)."""

from collections.abc import Iterator

from agent_core.instructions import LOAD_SKILL
from swarm_presets.parts import agents, leaves, words
from swarm_presets.positions import Listing, Mapping, Node, Unknown, at
from swarm_presets.problems import Problem, problem, suggest
from swarm_presets.references import Known

_SKILLS = ("skills", "supervisor.skills", "defaults.skills", "agents.*.skills", "routes.*.skill")


def unknown_skills(tree: Mapping, known: Known) -> Iterator[Problem]:
    """SW209: skills of the package and of the operator's folder; a person's own are nobody else's."""
    if known.skills is None:
        return
    for leaf in words(tree, *_SKILLS):
        if leaf.text not in known.skills:
            cure = suggest(leaf.text, known.skills, "there are no skills")
            yield problem("SW209", f"no skill `{leaf.text}`", leaf.span, cure)


def skill_meaning(tree: Mapping) -> Iterator[Problem]:
    """SW307: the supervisor follows the routes, so it must be able to load their skills."""
    tools = at(tree, "supervisor", "tools")
    lead = at(tree, "supervisor", "skills") or tree.get("skills")
    allowed = {leaf.text for leaf in leaves(lead)}
    for leaf in words(tree, "routes.*.skill"):
        if not isinstance(tools, Unknown) and not _has(tools, LOAD_SKILL):
            message = f"the route's skill `{leaf.text}` needs the tool `{LOAD_SKILL}`"
            cure = f"add `{LOAD_SKILL}` to `supervisor.tools`"
            yield problem("SW307", message, leaf.span, cure)
        elif isinstance(lead, Listing) and leaf.text not in allowed:
            message = f"the route's skill `{leaf.text}` is not one of the supervisor's skills"
            cure = suggest(leaf.text, allowed, "add it to `skills`")
            yield problem("SW307", message, leaf.span, cure)


def skills_in_vain(tree: Mapping) -> Iterator[Problem]:
    """SW406: a sub-agent is called by nobody's command, so without the tool it uses no skill."""
    for name, worker in agents(tree):
        entry = worker.entries.get("skills")
        tools = worker.get("tools")
        if entry is not None and leaves(entry.node) and not _has(tools, LOAD_SKILL):
            message = f"`{name}` may use skills, but has not the tool `{LOAD_SKILL}`"
            cure = f"add `{LOAD_SKILL}` to its tools, or remove `skills`"
            yield problem("SW406", message, entry.key, cure, severity="warning")


def _has(tools: Node | None, name: str) -> bool:
    return name in {leaf.text for leaf in leaves(tools)}
