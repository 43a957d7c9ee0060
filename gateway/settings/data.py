"""Where prices, fundamentals and filings come from, and how each source is asked."""

import difflib
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from agent_core.finance.sources import kinds
from gateway.settings.fields import Address, Folder, PositiveInt, Secret, Section, Text, bare, fault
from gateway.settings.retention import Span

_SECRET = re.compile(r"(?i)key|token|secret|password")
Column = Literal["date", "open", "high", "low", "close", "volume"]
Url = Annotated[Address, AfterValidator(bare)]


def _currency(value: str | None) -> str | None:
    if value is not None and not (value.isalpha() and value.isupper() and 3 <= len(value) <= 5):
        raise fault(f"{value!r} is no currency", "write its code, such as USD")
    return value


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    for at, name in enumerate(names):
        # what other packages have takes 10 ms to find out
        if name not in kinds.BUILT_IN and name not in (known := kinds.names()):
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            cure = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise fault(f"there is no data source {name!r}", cure, str(at))
        if name in names[:at]:
            raise fault(f"{name} is there twice", "remove one", str(at))
    return names


def _contact(value: str | None) -> str | None:
    if value is not None and "@" not in value:
        raise fault("is no address of somebody", "write a mail address: the SEC asks for one")
    return value


def _hidden(options: dict[str, Any]) -> dict[str, Any]:
    """Options whose names say that they are secret never show when settings are printed."""
    return {
        key: SecretStr(value) if isinstance(value, str) and _SECRET.search(key) else value
        for key, value in options.items()
    }


Currency = Annotated[str | None, AfterValidator(_currency)]


class FolderData(Section):
    """Your own files. `columns` maps our names of columns to yours; `adjusted`: the prices are adjusted already."""

    path: Folder | None = None
    currency: Currency = None
    columns: dict[Column, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    adjusted: bool = False


class StooqData(Section):
    """stooq.com; the key is for those who load much."""

    base_url: Url = None
    api_key: Secret = None


class BaostockData(Section):
    """baostock's server, where it is not their own."""

    host: Text = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None


class CcxtData(Section):
    """One exchange by ccxt's name of it, and what coins are priced in there."""

    exchange: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")] = "bitstamp"
    quote: Annotated[str, Field(pattern=r"^[A-Z]{3,5}$")] = "USD"
    base_url: Url = None


class EdgarData(Section):
    """The SEC's EDGAR, which wants to know whom it may write to about the requests."""

    contact: Annotated[
        str | None, BeforeValidator(lambda v: v or None), AfterValidator(_contact)
    ] = None
    base_url: Url = None
    files_url: Url = None


class Data(Section):
    """Data sources, asked in this order, and how.

    `max_age`: what was fetched longer ago is fetched again even where it cannot have changed. `cache`: whether what
    live sources answer is kept in the database. `per_minute`: requests a minute by source, in place of its own number.
    `options`: for sources of other packages, by name.
    """

    sources: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_known)] = (
        "bundled",
        "ecb",
    )
    max_age: Span = None
    cache: bool = True
    per_minute: dict[str, PositiveInt] = Field(default_factory=dict)
    folder: FolderData = FolderData()
    stooq: StooqData = StooqData()
    baostock: BaostockData = BaostockData()
    ccxt: CcxtData = CcxtData()
    edgar: EdgarData = EdgarData()
    options: dict[str, Annotated[dict[str, Any], AfterValidator(_hidden)]] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _complete(self) -> "Data":
        if "folder" in self.sources and self.folder.path is None:
            raise fault(
                "the source folder needs a path", "name the folder of your files", "folder.path"
            )
        if "edgar" in self.sources and self.edgar.contact is None:
            cure = "write a mail address: the SEC answers nobody without"
            raise fault("the source edgar needs a contact", cure, "edgar.contact")
        for key in ("per_minute", "options"):
            for name in getattr(self, key):
                if name not in self.sources:
                    cure = f"there are {', '.join(self.sources)}; add it there, or remove this"
                    raise fault(f"{name} is not among data.sources", cure, f"{key}.{name}")
        offline = [n for n in self.per_minute if n in kinds.BUILT_IN and not kinds.BUILT_IN[n].live]
        if offline:
            raise fault(f"{offline[0]} asks no server", "remove it", f"per_minute.{offline[0]}")
        ours = next((name for name in self.options if name in kinds.BUILT_IN), None)
        if ours is not None:
            cure = f"write them under data.{ours}"
            raise fault(f"{ours} has options of its own", cure, f"options.{ours}")
        return self

    def options_of(self, name: str) -> dict[str, Any]:
        """What a source is made with, without what is left to itself."""
        section = getattr(self, name, None) if name in kinds.BUILT_IN else None
        values = self.options.get(name, {}) if section is None else dict(section)
        return {
            key: value.get_secret_value() if isinstance(value, SecretStr) else value
            for key, value in values.items()
            if value not in (None, {})
        }
