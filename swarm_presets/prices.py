"""What a worker's model costs, as far as it is known: the preset's own price, else the price table."""

from dataclasses import dataclass

from swarm_presets.parts import number
from swarm_presets.positions import Leaf, Mapping, at
from swarm_presets.references import Known

FREE = frozenset({"demo", "replay"})


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices for the models of one resolved preset."""

    tree: Mapping
    known: Known

    def model(self, worker: Mapping) -> str:
        """The model of a worker, its alias resolved; `auto` where nothing is written."""
        word = worker.get("model")
        return self.used(word.text if isinstance(word, Leaf) else "auto")

    def used(self, word: str) -> str:
        """What a model's name or alias stands for."""
        use = at(self.tree, "models", word, "use")
        if isinstance(use, Leaf):
            return use.text
        return "auto" if at(self.tree, "models", word) is not None else word

    def of(self, word: str) -> tuple[float, float] | None:
        """Dollars for a million tokens in and out, by alias or name; None where they are not known."""
        price = at(self.tree, "models", word, "price")
        if price is not None:
            into, out = number(at(price, "input")), number(at(price, "output"))
            return None if into is None or out is None else (into, out)
        model = self.used(word)
        if model in FREE:
            return 0.0, 0.0
        return self.known.price(model) if self.known.price and model != "auto" else None

    def cost(self, worker: Mapping, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars for one call of a worker; None where its model has no known price."""
        word = worker.get("model")
        price = self.of(word.text if isinstance(word, Leaf) else "auto")
        return None if price is None else (tokens_in * price[0] + tokens_out * price[1]) / 1_000_000
