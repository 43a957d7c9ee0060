"""The settings of the console: who may open it beside the holder of `http.console_token`, and as what."""

from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from gateway.settings.fields import Section, fault

Role = Literal["viewer", "operator", "admin"]
SHORTEST = 16  # characters of a token: it is all that stands between a stranger and the console


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


def _long(value: SecretStr | None) -> SecretStr | None:
    if value is not None and len(value.get_secret_value()) < SHORTEST:
        cure = f"use {SHORTEST} characters at least, such as those of `openssl rand -hex 24`"
        raise fault("is too short for a token", cure)
    return value


Token = Annotated[SecretStr | None, BeforeValidator(_empty_is_none), AfterValidator(_long)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")]


class ConsoleToken(Section):
    """One named token. Empty: nobody logs in by it."""

    token: Token = None
    role: Role = "viewer"


class Proxy(Section):
    """Who logs in through a proxy that knows them: its header names the person, and `users` what each may do.

    Counts only in requests from `addresses`; a person that is not in `users` stays out. Off while `header` is null.
    """

    header: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")] = None
    addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    users: dict[Name, Role] = Field(default_factory=dict)


class Console(Section):
    """The operators' pages and API. `session_hours`: how long a log-in lasts."""

    enabled: bool = True
    tokens: dict[Name, ConsoleToken] = Field(default_factory=dict)
    proxy: Proxy = Proxy()
    session_hours: Annotated[int, Field(ge=1, le=720)] = 12
