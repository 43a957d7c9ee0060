"""The settings of models: which answer, in which order, where they are reached, and what they cost."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from agent_core.models.catalog import PROVIDERS, Kind
from gateway.settings.fields import (
    Address,
    ModelName,
    Money,
    PositiveInt,
    Secret,
    Section,
    Text,
    fault,
)

ProviderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]

_ALWAYS = ("anthropic", "openai", "gemini")
GEMINI_CURE = "install it: pip install 'swarmgate[gemini]'"


class Override(Section):
    """Facts about one model that win over the catalogue: tokens, whether it sees pictures, US dollars per million."""

    context_window: PositiveInt | None = None
    max_output_tokens: PositiveInt | None = None
    vision: bool | None = None
    input_per_mtok: Money | None = None
    output_per_mtok: Money | None = None
    cache_read_per_mtok: Money | None = None
    cache_write_per_mtok: Money | None = None
    cache: Literal["breakpoint", "prefix", "none"] | None = None


class Provider(Section):
    """An endpoint of models. `kind` is filled in from the entry's name when the file does not say it."""

    kind: Kind = "openai"
    api_key: Secret = None
    base_url: Address = None
    model: Text = None


class Models(Section):
    """Which models answer, in which order, and where they are reached. `transcriber` hears voice messages."""

    default: ModelName = "auto"
    fallback: tuple[ModelName, ...] = ()
    transcriber: Annotated[ModelName | None, BeforeValidator(lambda v: v or None)] = None
    overrides: dict[str, Override] = Field(default_factory=dict)
    providers: dict[ProviderName, Provider] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        """Fill entries in: kind and address of a ready one, else kind openai. Ready ones that are named exist."""
        if not isinstance(data, dict) or not isinstance(data.get("providers", {}), dict):
            return data
        entries: dict[str, object] = dict(data.get("providers", {}))
        single = (str(data.get(key) or "") for key in ("default", "transcriber"))
        listed = data.get("fallback")  # of any shape still: it is judged after this
        named = (*single, *map(str, listed if isinstance(listed, list | tuple) else ()))
        for name in (*_ALWAYS, *(model.partition("/")[0] for model in named)):
            if name in PROVIDERS:
                entries.setdefault(name, {})
        for name, entry in entries.items():
            if entry is None or isinstance(entry, dict):
                entries[name] = _ready(name) | (entry or {})
        return {**data, "providers": entries}

    @model_validator(mode="after")
    def _usable(self) -> "Models":
        for index, model in enumerate((self.default, *self.fallback)):
            if model not in {"auto", "demo"}:
                self._check(model, "default" if index == 0 else f"fallback.{index - 1}")
        if self.transcriber is not None:
            self._check_transcriber(self.transcriber)
        return self

    def _check_transcriber(self, model: str) -> None:
        if model in {"auto", "demo"}:
            cure = "name one, such as openai/gpt-4o-mini-transcribe, or leave it null"
            raise fault(f"{model} cannot transcribe", cure, "transcriber")
        self._check(model, "transcriber")
        if self.providers[model.partition("/")[0]].kind != "openai":
            cure = "choose a provider that speaks OpenAI's API (/audio/transcriptions)"
            raise fault(f"the provider of {model} does not transcribe", cure, "transcriber")

    def _check(self, model: str, key: str) -> None:
        name = model.partition("/")[0]
        if name not in self.providers:
            import difflib

            known = {*self.providers, *PROVIDERS}
            near = difflib.get_close_matches(name, known, n=1)
            cure = f"did you mean {near[0]}?" if near else "add it under models.providers"
            raise fault(f"there is no provider {name!r}", cure, key)
        provider, ready = self.providers[name], PROVIDERS.get(name)
        if not has_sdk(provider.kind):
            raise fault(f"{model} needs the package google-genai", GEMINI_CURE, key)
        standard = ready is not None and provider.base_url in {None, ready.base_url}
        if standard and ready and ready.key_env and provider.api_key is None:
            cure = f"set {ready.key_env}"
            raise fault(f"{model} needs an API key", cure, f"providers.{name}.api_key")

    def facts(self) -> dict[str, dict[str, object]]:
        """`overrides` in the form that the catalogue takes."""
        return {name: own.model_dump(exclude_none=True) for name, own in self.overrides.items()}

    def keyed(self) -> dict[str, str | None]:
        """The entries that have an API key, in order of the file, each with its own model or None."""
        return {
            name: provider.model
            for name, provider in self.providers.items()
            if provider.api_key is not None and has_sdk(provider.kind)
        }


def has_sdk(kind: str) -> bool:
    """Whether the SDK of this kind of provider is installed: Gemini's is an extra. Imports no SDK."""
    if kind != "gemini":
        return True
    from importlib.util import find_spec

    try:
        return find_spec("google.genai") is not None
    except ModuleNotFoundError:  # not even the namespace is there
        return False


def _ready(name: str) -> dict[str, object]:
    entry = PROVIDERS.get(name)
    return {"kind": entry.kind, "base_url": entry.base_url} if entry else {"kind": "openai"}
