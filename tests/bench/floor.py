"""The bare client libraries: what no gateway in Python can be cheaper than. Memory only, one lock a chat, no commits.

Reads TELEGRAM_URL and ANTHROPIC_URL.
"""

import asyncio
import os
from collections import defaultdict
from typing import Any

from anthropic import AsyncAnthropic
from telegram import Update
from telegram.ext import Application, MessageHandler, filters


class Floor:
    """Answers each text with what the model streams."""

    def __init__(self) -> None:
        self.claude = AsyncAnthropic(api_key="bench", base_url=os.environ["ANTHROPIC_URL"])
        self.said: dict[int, list[dict[str, str]]] = defaultdict(list)
        self.turns: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def reply(self, update: Update, _: Any) -> None:
        message = update.effective_message
        assert message is not None
        async with self.turns[message.chat_id]:
            log = self.said[message.chat_id]
            log.append({"role": "user", "content": message.text or ""})
            call = self.claude.messages.stream(model="bench", max_tokens=1024, messages=log)  # type: ignore[arg-type]
            async with call as stream:
                answer = await stream.get_final_text()
            log.append({"role": "assistant", "content": answer})
            await message.chat.send_message(answer)


def main() -> None:
    url = os.environ["TELEGRAM_URL"]
    app = (
        Application.builder()
        .token("123456:bench")
        .base_url(f"{url}/bot")
        .base_file_url(f"{url}/file/bot")
        .concurrent_updates(64)
        .build()
    )
    app.add_handler(MessageHandler(filters.TEXT, Floor().reply))
    app.run_polling()


if __name__ == "__main__":
    main()
