"""What operators may do: viewers look, operators decide and mend, admins say who may do what."""

from gateway.settings.console import Role

_ORDER: tuple[Role, ...] = ("viewer", "operator", "admin")


def may(has: Role, needs: Role) -> bool:
    """Whether a role includes another one."""
    return _ORDER.index(has) >= _ORDER.index(needs)
