"""Webhooks: Telegram posts updates to us, and is answered 200 when they are durable.

Whatever else it hears, it posts the update again, for a day. The webhook stays set while the process is down, so
nothing is lost meanwhile.
"""

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from aiohttp import web
from telegram import Bot, Update
from telegram.error import InvalidToken, TelegramError

from channels.errors import BadCredentials
from channels.pulse import Pulse
from channels.telegram.config import TelegramConfig
from channels.telegram.poll import ALLOWED, FACTOR, FIRST_WAIT, LONGEST_WAIT
from channels.telegram.updates import UNREADABLE, chat_of, shown

log = logging.getLogger(__name__)

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the header's name
MAX_BODY = 2**20  # bytes; an update is some kilobytes

Handle = Callable[[Update], Awaitable[None]]


class Webhook:
    """The webhook of one bot. `routes` are mounted once; while `run` does not run, requests are answered 503."""

    def __init__(self, bot: Bot, config: TelegramConfig, pulse: Pulse) -> None:
        self._bot = bot
        self._pulse = pulse
        self._config = config
        self._handle: Handle | None = None
        self._chats: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def routes(self) -> Sequence[web.RouteDef]:
        """To mount."""
        return [web.post(self._config.webhook_path, self._receive)]

    async def run(self, handle: Handle, ready: Callable[[], None]) -> None:
        """Set the webhook and receive until cancelled; `handle` returns when an update is durable.

        Raises BadCredentials; other failures are tried again, with back-off.
        """
        self._handle = handle
        try:
            await self._register()
            ready()
            await asyncio.Event().wait()
        finally:
            self._handle = None

    async def _register(self) -> None:
        wait = FIRST_WAIT
        while True:
            try:
                await self._bot.set_webhook(
                    self._config.webhook_url,
                    allowed_updates=ALLOWED,
                    secret_token=self._config.webhook_secret,
                )
                await self._check()
            except InvalidToken as e:
                raise BadCredentials("the token is refused by Telegram") from e
            except TelegramError as e:
                log.warning(
                    "setting the webhook %s failed, again in %.1f s: %s",
                    self._config.webhook_url,
                    wait,
                    e,
                )
                await asyncio.sleep(wait)
                wait = min(wait * FACTOR, LONGEST_WAIT)
            else:
                return

    async def _check(self) -> None:
        """Say what Telegram knows of the webhook. Raises TelegramError."""
        info = await self._bot.get_webhook_info()
        if info.url != self._config.webhook_url:
            raise TelegramError(f"the webhook is {info.url or 'not set'} though it was just set")
        if info.last_error_message:
            log.warning("Telegram could not deliver to %s: %s", info.url, info.last_error_message)
        if info.pending_update_count:
            log.info("%d updates wait at Telegram", info.pending_update_count)

    # Requests ----------------------------------------------------------------------------------------------------

    async def _receive(self, request: web.Request) -> web.Response:
        if not self._authentic(request):
            log.warning("telegram_webhook_refused", extra={"reason": "wrong secret token"})
            return web.Response(status=401, text="wrong secret token")
        self._pulse.beat()
        if self._handle is None:
            return web.Response(status=503, text="not ready")
        body = await limited(request)
        if body is None:
            log.warning("telegram_webhook_refused", extra={"reason": "body too large"})
            return web.Response(status=413, text="the body is too large")
        data = decoded(body)
        if data is None:
            log.warning("telegram_webhook_refused", extra={"reason": "not an update"})
            return web.Response(status=400, text="this is not an update")
        try:
            update = Update.de_json(data, self._bot)
        except (*UNREADABLE, OSError) as e:  # OSError: a time beyond the clock
            # Anything but 200 brings it back for ever.
            log.error("update %s cannot be read and is skipped: %s", data["update_id"], shown(e))  # noqa: TRY400
            return web.Response()
        return await self._store(update, self._handle)

    async def _store(self, update: Update, handle: Handle) -> web.Response:
        lock = self._chats.setdefault(chat_of(update), asyncio.Lock())
        try:
            async with lock:  # Telegram posts side by side; a chat's order is that of arrival
                await handle(update)
        except Exception:  # whatever the store says, the update must come again
            log.exception("update %s could not be stored; it will come again", update.update_id)
            return web.Response(status=500, text="not stored")
        return web.Response()

    def _authentic(self, request: web.Request) -> bool:
        given = request.headers.get(SECRET_HEADER, "").encode("utf-8", "surrogateescape")
        return hmac.compare_digest(given, self._config.webhook_secret.encode())


async def limited(request: web.Request) -> bytes | None:
    """The body, or None when it is too large."""
    if (request.content_length or 0) > MAX_BODY:
        return None
    data = bytearray()
    async for piece in request.content.iter_any():
        data += piece
        if len(data) > MAX_BODY:
            return None
    return bytes(data)


def decoded(body: bytes) -> dict[str, Any] | None:
    """An update as JSON: an object with a number; None for anything else."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    known = isinstance(data, dict) and isinstance(data.get("update_id"), int)
    return data if known else None
