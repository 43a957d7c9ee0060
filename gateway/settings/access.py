"""The settings of access: who may talk to the bot, who runs it, and which models a role may choose."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field

from gateway.settings.fields import PersonId, Section

OPERATOR = "operator"
USER = "user"  # has no role


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

    @property
    def given(self) -> Sequence[str]:
        """The roles that an admin of the console may give; operators are made by the settings alone."""
        return [name for name in self.roles if name not in {OPERATOR, USER}]

    def names(self, person: str) -> bool:
        """Whether the settings themselves say which role the person has."""
        return person in self.operators or any(person in r.members for r in self.roles.values())

    def role(self, person: str) -> str:
        """`operator`, else the first role that names the person, else `user`; see gateway/people/roles.py."""
        if person in self.operators:
            return OPERATOR
        return next((name for name, r in self.roles.items() if person in r.members), USER)

    def may_choose(self, role: str, model: str) -> bool:
        """Whether `/model` may set this model for people of this role. Operators may choose any."""
        limits = self.roles[role].models if role in self.roles else None
        return limits is None or any(fnmatchcase(model, limit) for limit in limits)
