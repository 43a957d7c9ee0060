"""The models of a preset: what each alias stands for, at which price, and what answers when it cannot."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent_core.ports import Price
from agent_core.runtime.team import ModelUse
from swarm_presets.schema_workers import ModelAlias, PricePart

CACHE_WRITE = 1.25  # times the input: Anthropic's prompt-caching page
MARK = "@"  # begins the name of an alias that is more than another word for a model; no model's name has it


@dataclass(frozen=True, slots=True)
class Aliases:
    """The preset's aliases by name."""

    aliases: dict[str, ModelAlias]

    def name(self, word: str | None) -> str:
        """A model as agents name it: its plain name, or an alias with a price or fallbacks of its own."""
        alias = self.aliases.get(word or "auto")
        if alias is None:
            return word or "auto"
        return f"{MARK}{word or 'auto'}" if alias.price or alias.fallback else alias.use

    def effort(self, word: str | None) -> str | None:
        """How much a model is to think; None where nothing is written."""
        alias = self.aliases.get(word or "auto")
        return alias.effort if alias else None

    def uses(self) -> dict[str, tuple[ModelUse, ...]]:
        """What answers for each alias that `name` marks: its own model, then its fallbacks with theirs, each once."""
        marked = (name for name in self.aliases if self.name(name).startswith(MARK))
        return {f"{MARK}{name}": tuple(self._chain(name, set())) for name in marked}

    def _chain(self, name: str, seen: set[str]) -> Iterator[ModelUse]:
        alias = self.aliases.get(name)
        if alias is None or name in seen:
            return
        seen.add(name)
        yield ModelUse(alias.use, _price(alias.price))
        for spare in alias.fallback or ():
            yield from self._chain(spare, seen)


def _price(part: PricePart | None) -> Price | None:
    """Where nothing is written of the cache: as if it saved nothing, and cost what the dearest provider takes."""
    if part is None:
        return None
    read = part.input if part.cache_read is None else part.cache_read
    write = CACHE_WRITE * part.input if part.cache_write is None else part.cache_write
    return Price(part.input, part.output, read, write)
