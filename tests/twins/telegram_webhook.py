"""The Telegram twin as the sender of webhooks: updates in order, each again until it hears a 2xx."""

import asyncio
import re
import time
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.twins.telegram_args import Args
from tests.twins.telegram_state import Json, State, bad
from tests.twins.twin import Changes

SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
PORTS = {None, 443, 80, 88, 8443}


class WebhookSender:
    """Posts what is pending. One at a time, so in order.

    Attributes:
        retry_after: seconds until a refused update is posted again.
        posts: (update id, status) of each post; 0: no answer.
    """

    def __init__(self, state: State, changes: Changes) -> None:
        self.state = state
        self.changes = changes
        self.retry_after = 0.05
        self.timeout = 5.0
        self.posts: list[tuple[int, int]] = []
        self._task: asyncio.Task[None] | None = None

    def set(self, args: Args) -> bool:
        """setWebhook. An empty address is deleteWebhook. Raises ApiError."""
        url = args.text("url") or ""
        if not url:
            return self.delete()
        parts = urlsplit(url)
        loopback = parts.hostname in {"127.0.0.1", "localhost"}  # the real one wants https always
        if parts.scheme != "https" and not loopback:
            raise bad("bad webhook: An HTTPS URL must be provided for webhook")
        if parts.port not in PORTS and not loopback:
            raise bad("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
        secret = args.text("secret_token")
        if secret is not None and not SECRET.fullmatch(secret):
            raise bad("secret token contains unallowed characters")
        allowed = args.json("allowed_updates")
        self.state.webhook = {"url": url, "secret": secret, "allowed": allowed}
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="telegram twin webhooks")
        self.changes.notify()
        return True

    def delete(self) -> bool:
        """deleteWebhook."""
        self.state.webhook = {}
        return True

    def info(self) -> Json:
        """getWebhookInfo."""
        hook = self.state.webhook
        body: Json = {
            "url": hook.get("url", ""),
            "has_custom_certificate": False,
            "pending_update_count": len(self.state.updates.pending),
        }
        if "error" in hook:
            body |= {"last_error_date": int(time.time()), "last_error_message": hook["error"]}
        return body

    async def stop(self) -> None:
        """End it; harmless when repeated."""
        if self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=self.timeout)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await self.changes.until(self._due, 3600.0)
                if not await self._post(session, *self._next()):
                    await asyncio.sleep(self.retry_after)

    def _due(self) -> bool:
        updates = self.state.updates
        return bool(self.state.webhook.get("url") and (updates.again or updates.pending))

    def _next(self) -> tuple[Json, bool]:
        updates = self.state.updates
        if updates.again:
            return updates.again.pop(0), False
        return updates.pending[min(updates.pending)], True

    async def _post(self, session: aiohttp.ClientSession, update: Json, confirm: bool) -> bool:
        hook: dict[str, Any] = self.state.webhook
        headers = {"X-Telegram-Bot-Api-Secret-Token": hook["secret"]} if hook["secret"] else {}
        number = update["update_id"]
        self.state.updates.delivered.append(number)
        try:
            async with session.post(hook["url"], json=update, headers=headers) as response:
                await response.read()
                status = response.status
        except (aiohttp.ClientError, TimeoutError):
            status = 0
        self.posts.append((number, status))
        taken = 200 <= status < 300
        if taken and confirm:
            self.state.updates.pending.pop(number, None)
        elif not taken:
            hook["error"] = f"Wrong response from the webhook: {status}"
        self.changes.notify()
        return taken
