"""Assistant threads: what a person may begin with, and the title of what they began."""

import logging
from collections import OrderedDict
from collections.abc import Sequence

from channels.errors import ChannelError
from channels.slack.calls import Calls

log = logging.getLogger(__name__)

TITLE_LIMIT = 60
PROMPTS = 4  # setSuggestedPrompts takes no more
MANY = 2000


class Assistants:
    """The assistant threads that were opened while we run."""

    def __init__(self, calls: Calls, prompts: Sequence[tuple[str, str]]) -> None:
        self._calls = calls
        self._prompts = [{"title": title, "message": text} for title, text in prompts[:PROMPTS]]
        self._titled: OrderedDict[tuple[str, str], bool] = OrderedDict()

    def knows(self, channel: str, thread: str | None) -> bool:
        """Whether it is an assistant thread."""
        return thread is not None and (channel, thread) in self._titled

    async def opened(self, channel: str, thread: str) -> None:
        """Offer what to begin with. Never raises a ChannelError."""
        self._titled.setdefault((channel, thread), False)
        while len(self._titled) > MANY:
            self._titled.popitem(last=False)
        if self._prompts:
            await self._try(
                "assistant.threads.setSuggestedPrompts",
                channel_id=channel,
                thread_ts=thread,
                prompts=self._prompts,
            )

    async def said(self, channel: str, thread: str, text: str) -> None:
        """The first message names the thread. Never raises a ChannelError."""
        title = " ".join(text.split())
        if self._titled.get((channel, thread), True) or not title or title.startswith(("/", "!")):
            return
        self._titled[channel, thread] = True
        if len(title) > TITLE_LIMIT:
            title = f"{title[: TITLE_LIMIT - 1]}…"
        await self._try(
            "assistant.threads.setTitle", channel_id=channel, thread_ts=thread, title=title
        )

    async def _try(self, method: str, **args: object) -> None:
        try:
            await self._calls.into(str(args["channel_id"]), method, **args)
        except ChannelError as e:
            log.info("an assistant thread goes without: %s", e)
