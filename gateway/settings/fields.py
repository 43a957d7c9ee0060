"""The kinds of values that settings hold, each with what it refuses and the cure."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

_PERSON = re.compile(
    r"telegram:-?\d{1,19}|discord:\d{1,20}|slack:[TE][A-Z0-9]+:[UW][A-Z0-9]+"
    r"|(?:web|terminal):[A-Za-z0-9_.@-]{1,64}"
)
_PLACE = re.compile(r"[a-z]+(:[A-Za-z0-9_.@-]+){1,3}")
_URL = re.compile(r"https?://[^/\s?#]+[^\s?#]*")


def fault(message: str, cure: str, key: str = "") -> PydanticCustomError:
    """An error that carries its cure. `key` (dotted) is what is meant below the judged mapping, where it is one."""
    # the message is no format string: what a person wrote may hold braces
    return PydanticCustomError("fault", "{message}", {"message": message, "cure": cure, "key": key})


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


def _anchored(path: Path, info: ValidationInfo) -> Path:
    base = (info.context or {}).get("folder") or Path.cwd()
    return Path(base, path.expanduser()).absolute()


def url(value: str | None) -> str | None:
    """An http address, or None."""
    if value is not None and not _URL.fullmatch(value):
        raise fault("is not an address", "write it as https://host or http://host:port")
    return value


def bare(value: str | None) -> str | None:
    """Without the slash at the end."""
    return value.rstrip("/") if value else value


def zone(name: str) -> str:
    """The name of a time zone that this system knows."""
    if name == "UTC":
        return name
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise fault(f"{name!r} is not a time zone", "write one such as Asia/Shanghai") from error
    return name


def _person(value: object) -> str:
    text = str(value) if isinstance(value, int | str) else ""
    if _PERSON.fullmatch(text):
        return text
    if text.lstrip("-").isdigit():
        raise fault(f"{text!r} lacks its platform", f'write "telegram:{text}" or "discord:{text}"')
    cure = 'write a stable id such as "telegram:123"; `swarmgate users list` shows them'
    raise fault(f"{text!r} is not a stable id (names can be changed and taken over)", cure)


def chat_id(value: str | None) -> str | None:
    """The id of a chat, with its platform in front."""
    if value is not None and not _PLACE.fullmatch(value):
        raise fault(f"{value!r} is not the id of a chat", 'write it as "telegram:-100123"')
    return value


def database_address(value: SecretStr | None) -> SecretStr | None:
    """A PostgreSQL address, or None for SQLite."""
    if value is None or value.get_secret_value().startswith(("postgresql://", "postgres://")):
        return value
    raise fault("is not a database address", "write postgresql://user:password@host/name, or null")


def _model(name: str) -> str:
    if name in {"auto", "demo"} or re.fullmatch(r"[^/\s]+/\S+", name):
        return name
    raise fault(
        f"{name!r} is not a model", "write <provider>/<model>, such as anthropic/claude-sonnet-4-5"
    )


Text = Annotated[str | None, BeforeValidator(_empty_is_none)]
Secret = Annotated[SecretStr | None, BeforeValidator(_empty_is_none)]
Address = Annotated[str | None, BeforeValidator(_empty_is_none), AfterValidator(url)]
Folder = Annotated[Path, AfterValidator(_anchored)]
PersonId = Annotated[str, BeforeValidator(_person)]
ModelName = Annotated[str, AfterValidator(_model)]
PositiveInt = Annotated[int, Field(ge=1)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Section(BaseModel):
    """A mapping of the file: unknown keys are errors, values never change after loading."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=()
    )
