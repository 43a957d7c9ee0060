"""The settings of models: which answer, in which order, where they are reached, and what they cost."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from gateway.settings_fields import (
    Address,
    ModelName,
    Money,
    PositiveInt,
    Secret,
    Section,
    Text,
    fault,
)

Kind = Literal["anthropic", "openai", "gemini"]

ProviderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]

_OWN_KINDS = ("anthropic", "openai", "gemini")


class Override(Section):
    """Facts about one model that win over the catalogue: tokens, and US dollars per million tokens."""

    context_window: PositiveInt | None = None
    max_output_tokens: PositiveInt | None = None
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
    """Which models answer, in which order, and where they are reached."""

    default: ModelName = "auto"
    fallback: tuple[ModelName, ...] = ()
    overrides: dict[str, Override] = Field(default_factory=dict)
    providers: dict[ProviderName, Provider] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _kinds(cls, data: object) -> object:
        """Three entries always exist; an entry's kind is its own name where that is one, else openai."""
        if not isinstance(data, dict) or not isinstance(data.get("providers", {}), dict):
            return data
        entries: dict[str, object] = {name: {} for name in _OWN_KINDS}
        entries |= data.get("providers", {})
        for name, entry in entries.items():
            kind = name if name in _OWN_KINDS else "openai"
            if entry is None or isinstance(entry, dict):
                entries[name] = {"kind": kind, **(entry or {})}
        return {**data, "providers": entries}

    @model_validator(mode="after")
    def _known(self) -> "Models":
        for name in (self.default, *self.fallback):
            key = "default" if name == self.default else "fallback"
            provider = name.partition("/")[0]
            if provider in {"auto", "demo"}:
                continue
            if provider not in self.providers:
                cure = f"add it under models.providers, or use one of {', '.join(self.providers)}"
                raise fault(f"there is no provider {provider!r} for {name}", cure, key)
            if self.providers[provider].kind == "gemini":
                cure = "choose a model of another provider"
                raise fault("Gemini models are not supported by this version", cure, key)
        return self
