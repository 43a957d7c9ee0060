"""The stage of a scenario: a gateway process between a Telegram twin and a model twin, and what must always hold."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.scenario.plugin import PRESET, Plugin
from tests.scenario.process import Gateway, environment
from tests.twins.anthropic import AnthropicTwin
from tests.twins.telegram import TelegramTwin
from tests.twins.telegram_state import Stored

MODEL = "anthropic/claude-sonnet-4-5"
KEY = "sk-ant-planted-key"
WAIT_S = 30.0


class Stage:
    """Two twins in this process, the gateway in another."""

    def __init__(
        self, folder: Path, telegram: TelegramTwin, model: AnthropicTwin, settings: dict[str, Any]
    ) -> None:
        self.telegram = telegram
        self.model = model
        self.plugin = Plugin(folder / "plugin")
        (folder / "presets").mkdir()
        (folder / "presets" / "scenario.yaml").write_text(PRESET, "utf-8")
        env = environment(self.plugin.folder, SCENARIO_FOLDER=str(self.plugin.folder))
        self.gateway = Gateway(folder, self.defaults() | settings, env)

    def defaults(self) -> dict[str, Any]:
        """Settings that point to the twins; everybody may talk."""
        return {
            "version": 1,
            "preset": "scenario",
            "http": {"port": 0},
            "models": {
                "default": MODEL,
                "providers": {"anthropic": {"api_key": KEY, "base_url": self.model.url}},
            },
            "channels": {
                "telegram": {
                    "enabled": True,
                    "token": self.telegram.token,
                    "base_url": self.telegram.base_url,
                    "base_file_url": self.telegram.base_file_url,
                }
            },
            "access": {"default": "allow", "operators": ["telegram:900"]},
        }

    # Waiting -----------------------------------------------------------------------------------------------------

    async def until(self, look: Callable[[], Any], timeout: float = WAIT_S) -> Any:
        """The first true value of `look`, which may look at anything: twins, files, the database."""
        async with asyncio.timeout(timeout):
            while not (found := look()):
                await asyncio.sleep(0.02)
        return found

    async def answered(self, chats: Sequence[int], count: int = 1, timeout: float = WAIT_S) -> None:
        """Wait until each chat has so many messages of the bot, and all that came in is done with."""
        for chat in chats:
            await self.telegram.wait_replies(chat, count, timeout)
        await self.settled(timeout)

    async def settled(self, timeout: float = WAIT_S) -> None:
        """Wait until nothing is open: no update, no row, no reply."""
        await self.until(lambda: not self.telegram.unconfirmed and not self.open_rows(), timeout)

    def open_rows(self) -> int:
        """Inbox rows that are not done and replies that are not sent."""
        return self.gateway.count("inbox", "status < 2") + self.gateway.count(
            "outbox", "status < 2"
        )

    # What is seen ------------------------------------------------------------------------------------------------

    def texts(self, chat: int) -> list[str]:
        """The texts of the bot's visible messages, in order."""
        return [m.text for m in self.telegram.replies(chat)]

    def reply(self, chat: int) -> Stored:
        """The bot's only visible message."""
        (found,) = self.telegram.replies(chat)
        return found

    def requests(self, match: str) -> list[dict[str, Any]]:
        """The model requests in which a person's text has these words, in order."""
        calls = self.model.matching(r"POST /v1/messages$")
        return [c.params for c in calls if match in json.dumps(c.params, ensure_ascii=False)]

    def results(self, match: str) -> list[str]:
        """All tool results that the model was shown in these requests, once each."""
        found: dict[str, None] = {}
        for request in self.requests(match):
            for message in request["messages"]:
                for block in message["content"] if isinstance(message["content"], list) else ():
                    if block["type"] == "tool_result":
                        found[text_of(block["content"])] = None
        return list(found)

    # What must always hold ---------------------------------------------------------------------------------------

    def sound(self, lost: int = 0) -> None:
        """No protocol was broken, no finished model call was made again, no reply was parked.

        `lost`: calls that had ended for the model when the gateway was killed, and were not stored: they may be.
        """
        assert self.telegram.violations == []
        assert self.model.violations == []
        assert len(self.model.repeated()) <= lost
        assert self.gateway.count("outbox", "status = 3") == 0

    def once(self, answers: dict[int, str], *, extra: Counter[int] | None = None) -> None:
        """Each chat shows its answer exactly once and nothing else; `extra` allows duplicates by chat."""
        for chat, answer in answers.items():
            shown = self.texts(chat)
            allowed = 1 + (extra[chat] if extra else 0)
            assert set(shown) == {answer}, f"chat {chat} shows {shown}"
            assert len(shown) <= allowed, f"chat {chat} shows it {len(shown)} times"

    def unknown(self, chats: Sequence[int]) -> Counter[int]:
        """How many visible messages of each chat the gateway does not know of: it was killed before it was told."""
        known = {
            i for row in self.gateway.rows("select ids from outbox") for i in json.loads(row[0])
        }
        shown = {c: [str(m.id) for m in self.telegram.replies(c)] for c in chats}
        return +Counter({c: sum(i not in known for i in ids) for c, ids in shown.items()})


def text_of(content: Any) -> str:
    """The text of a tool result's content."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


@asynccontextmanager
async def stage(folder: Path, **settings: Any) -> AsyncIterator[Stage]:
    """A stage whose gateway is not started yet; nothing of it is left behind."""
    async with TelegramTwin() as telegram, AnthropicTwin() as model:
        assert isinstance(telegram, TelegramTwin)
        assert isinstance(model, AnthropicTwin)
        made = Stage(folder, telegram, model, settings)
        try:
            yield made
        finally:
            await made.gateway.close()
