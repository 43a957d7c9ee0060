"""The settings of access: who may talk to the bot, who runs it, and which models a role may choose."""

from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field

from gateway.settings.fields import PersonId, Section


class Role(Section):
    """Who has a role and which models it may choose: names or globs such as `openai/*`; null means all."""

    members: tuple[PersonId, ...] = ()
    models: tuple[str, ...] | None = None


class Access(Section):
    """Who may talk to the bot. A person outside `allow` is paired by a code, let in, or denied, as `default` says."""

    default: Literal["pairing", "allow", "deny"] = "pairing"
    allow: tuple[PersonId, ...] = ()
    operators: tuple[PersonId, ...] = ()
    roles: dict[str, Role] = Field(default_factory=dict)

    def role(self, person: str) -> str:
        """`operator`, else the first role that names the person, else `user`."""
        if person in self.operators:
            return "operator"
        return next((name for name, r in self.roles.items() if person in r.members), "user")

    def may_choose(self, person: str, model: str) -> bool:
        """Whether `/model` may set this model for the person. Operators may choose any."""
        role = self.role(person)
        limits = self.roles[role].models if role in self.roles else None
        return limits is None or any(fnmatchcase(model, limit) for limit in limits)
