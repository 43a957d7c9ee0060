"""The settings: every key with its type, range and default. `load` is the only way in.

Nothing is configured that is not enforced: unknown keys are errors. Secrets are `SecretStr`: printing settings never
shows them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)

from gateway.problems import SettingsError
from gateway.settings.access import Access
from gateway.settings.budgets import Budgets
from gateway.settings.channels import Channels
from gateway.settings.console import Console
from gateway.settings.data import Data
from gateway.settings.fields import (
    Address,
    Folder,
    PositiveInt,
    Secret,
    Section,
    bare,
    chat_id,
    database_address,
    fault,
    zone,
)
from gateway.settings.file import Source, collect
from gateway.settings.groups import Groups
from gateway.settings.hooks import Hook, HookName
from gateway.settings.judge import judge
from gateway.settings.mcp import Mcp
from gateway.settings.models import Models
from gateway.settings.retention import Retention
from gateway.settings.schedules import Scheduled
from gateway.settings.tools import Tools
from gateway.settings.trading import LIVE, Trading
from gateway.settings.yaml import Document


class Locale(Section):
    """`language` auto: each person's own. Days of budgets and schedules follow `timezone` (IANA name)."""

    language: Literal["auto", "en", "zh"] = "auto"
    timezone: Annotated[str, AfterValidator(zone)] = "UTC"


class Http(Section):
    """The gateway's own server. Port 0 lets the system choose; `public_url` is how browsers reach it from outside."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    public_url: Annotated[Address, AfterValidator(bare)] = None
    console_token: Secret = None


class Context(Section):
    """How long conversations are kept within a model's window."""

    policy: Literal["economic", "eager", "window_reserve", "layered", "summary", "truncate"] = (
        "economic"
    )


class Memory(Section):
    """Memory across sessions.

    `tiers`: once a day, what is no longer used goes to the archive and long texts are shortened, losslessly; both or
    neither, so that nothing is configured by halves (GCX-2). Without memory there is nothing to keep in order.
    `profile`: how recall ranks; "source" is the recipe of the source material, kept to compare with.
    """

    enabled: bool = True
    tiers: bool = True
    profile: Literal["own", "source"] = "own"

    @property
    def keeps_order(self) -> bool:
        """Whether memories are kept in order once a day."""
        return self.enabled and self.tiers


class RateLimit(Section):
    """How many messages of one person are taken up within a minute, and four times as many of a whole group.

    More are answered with one note, not dropped in silence.
    """

    messages_per_minute: PositiveInt = 60


class Sessions(Section):
    """How turns run.

    `while_busy`: later messages of its author join the running turn (steer), wait for the next one
    (queue), or end it and run next (interrupt).
    """

    while_busy: Literal["steer", "queue", "interrupt"] = "steer"
    max_running: Annotated[int, Field(ge=1, le=10_000)] = 32
    rate_limit: RateLimit = RateLimit()


class Engine(Section):
    """Which engine runs the turns; auto is the embedded one on SQLite, the shared one (procrastinate) on PostgreSQL.

    Of several gateways each gives a sign of life every `beat_s` seconds; what one without any for `stale_s` seconds ran
    is taken over by the others.
    """

    kind: Literal["auto", "local", "procrastinate"] = "auto"
    beat_s: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    stale_s: Annotated[float, Field(ge=1, le=600)] = 7.0


class Settings(Section):
    """All settings, judged and complete. Paths are absolute."""

    version: Literal[1] = 1
    data_dir: Folder = Field(default=Path("data"), validate_default=True)
    database: Annotated[Secret, AfterValidator(database_address)] = None
    preset: Annotated[str, Field(min_length=1)] = "trading-desk"
    presets_dir: Folder = Field(default=Path("presets"), validate_default=True)
    skills_dir: Folder = Field(default=Path("skills"), validate_default=True)
    knowledge_dir: Folder = Field(default=Path("knowledge"), validate_default=True)
    templates_dir: Folder = Field(default=Path("templates"), validate_default=True)
    locale: Locale = Locale()
    http: Http = Http()
    console: Console = Console()
    models: Models = Models()
    context: Context = Context()
    memory: Memory = Memory()
    retention: Retention = Retention()
    channels: Channels = Channels()
    groups: Groups = Groups()
    access: Access = Access()
    ops_channel: Annotated[str | None, AfterValidator(chat_id)] = None
    sessions: Sessions = Sessions()
    budgets: Budgets = Budgets()
    data: Data = Data()
    trading: Trading = Trading()
    tools: Tools = Tools()
    mcp: Mcp = Mcp()
    schedules: tuple[Scheduled, ...] = ()
    hooks: dict[HookName, Hook] = Field(default_factory=dict)
    engine: Engine = Engine()

    @model_validator(mode="after")
    def _reachable(self) -> "Settings":
        key, address = self.channels.telegram.hooked(), self.http.public_url
        if not key:
            return self
        if address is None:
            cure = "set `http.public_url` to the address where Telegram reaches this server, or use polling"
            raise fault("webhook mode needs http.public_url", cure, f"channels.telegram.{key}")
        parts = urlsplit(address)
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
            cure = "write https://…; Telegram posts to nothing else"
            raise fault("webhook mode needs https", cure, "http.public_url")
        return self

    @model_validator(mode="after")
    def _payable(self) -> "Settings":
        name = self.budgets.fallback_model
        if name not in {"auto", "demo"} and name.partition("/")[0] not in self.models.providers:
            cure = "use demo, or a model of a provider under models.providers"
            raise fault(f"there is no provider of {name}", cure, "budgets.fallback_model")
        return self

    @model_validator(mode="after")
    def _shareable(self) -> "Settings":
        database = self.database.get_secret_value() if self.database else ""
        if self.engine.kind == "procrastinate" and not database.startswith("postgres"):
            cure = "set `database` to postgresql://…, or leave engine.kind at auto"
            raise fault("procrastinate needs PostgreSQL", cure, "engine.kind")
        if self.engine.stale_s < 3 * self.engine.beat_s:
            cure = f"write at least {3 * self.engine.beat_s:g}: three signs of life"
            raise fault("is too short for engine.beat_s", cure, "engine.stale_s")
        return self

    _source: Source = PrivateAttr(default_factory=lambda: Source(Document("settings"), Path.cwd()))

    @property
    def file(self) -> Path | None:
        """The settings file, or None for the embedded defaults."""
        return self._source.path

    @property
    def warnings(self) -> tuple[str, ...]:
        """What will not work as it is written or must be known, one line each, to be logged at start."""
        pots = self.budgets.rules(self.locale.timezone).pots
        asks = any(pot.on_exceeded == "ask_admin" for pot in pots)
        nobody = "budgets: ask_admin asks nobody; name somebody in access.operators"
        said = [nobody] if asks and not self.access.operators else []
        return (*said, *([LIVE] if self.trading.live else []))

    def refuse(self, key: str, message: str, cure: str) -> SettingsError:
        """An error at the value of a dotted key, found out after `load` (an unknown preset, a port in use)."""
        path = tuple(int(part) if part.isdigit() else part for part in key.split("."))
        return SettingsError([self._source.problem(path, message, cure)])

    def secrets(self) -> frozenset[str]:
        """All secret values, for redaction only."""
        return frozenset(_secrets(self))


def load(path: Path | None, env: Mapping[str, str]) -> Settings:
    """The settings in `path` (None: the embedded defaults), with the environment laid over.

    Raises SettingsError with every problem found, each with its line and column. Reads nothing but the file.
    """
    source = collect(path, env)
    if path and "version" not in source.values:
        source.note(("version",), "is missing", "begin the file with `version: 1`")
    try:
        settings = Settings.model_validate(source.values, context={"folder": source.folder})
    except ValidationError as error:
        judge(error, source, Settings)
        raise SettingsError(source.ordered()) from None
    if source.problems:
        raise SettingsError(source.ordered())
    settings._source = source  # noqa: SLF001 - set once, here, where the object is made
    return settings


def _secrets(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        if text := value.get_secret_value():
            yield text
            yield from _password(text)
    elif isinstance(value, Section):
        for _, below in value:
            yield from _secrets(below)
    elif isinstance(value, dict | list | tuple):
        for below in value.values() if isinstance(value, dict) else value:
            yield from _secrets(below)


def _password(text: str) -> Iterator[str]:
    """The password in an address: what a driver says of its failure has that alone."""
    _, found, rest = text.partition("://")
    password = rest.rpartition("@")[0].partition(":")[2] if found else ""
    if password:
        yield password
        yield unquote(password)
