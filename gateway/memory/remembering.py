"""The background work of memory as one thing: learning from sessions, the index of what was said, keeping in order."""

from dataclasses import dataclass

from gateway.engine.begun import Begun
from gateway.memory.learning import Learning
from gateway.memory.recall_indexer import RecallIndexer
from gateway.memory.upkeep import MemoryUpkeep


@dataclass(slots=True)
class Remembering:
    """Owned by the process. None of it is on the path of a message, and a kill loses none of it.

    `indexer`: None where memory is switched off; `upkeep`: None where nothing is shortened and cleared up, and started
    by itself, in one process (gateway/roles).
    """

    learning: Learning
    indexer: RecallIndexer | None = None
    upkeep: MemoryUpkeep | None = None

    async def start(self) -> None:
        """Take up what an earlier process left."""
        await self.learning.start()
        if self.indexer is not None:
            await self.indexer.start()

    async def stop(self) -> None:
        """End in good order; harmless where it was not started."""
        if self.indexer is not None:
            await self.indexer.stop()
        await self.learning.stop()

    def left(self) -> None:
        """A session may have been left for another."""
        self.condensed()
        if self.indexer is not None:
            self.indexer.hurry()

    def condensed(self) -> None:
        """A summary stands for rows from which something is to be learnt now."""
        self.learning.wake()

    def after(self, begun: Begun) -> None:
        """A turn is over."""
        self.learning.after(begun)
        if self.indexer is not None:
            self.indexer.after(begun)
