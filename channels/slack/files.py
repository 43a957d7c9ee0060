"""Files out in three steps, and in with the token, which goes to Slack and nowhere else."""

import asyncio
import io
import logging
from urllib.parse import urlsplit

import aiohttp

from channels.errors import Ambiguous, Refused, Unreachable
from channels.slack.calls import Calls, proxy_for
from channels.slack.config import SlackConfig
from channels.slack.errors import translate
from channels.types import Address, Attachment

log = logging.getLogger(__name__)

UPLOAD_LIMIT = 2**30  # 1 GB a file, docs.slack.dev/messaging/working-with-files
CHUNK = 2**16
LOGIN_ADVICE = (
    "Slack answers with its login page: the bot token lacks the scope files:read; add it at "
    "https://api.slack.com/apps → your app → OAuth & Permissions, then reinstall the app"
)


class Files:
    """Uploads and downloads of one app."""

    def __init__(self, calls: Calls, config: SlackConfig) -> None:
        self._calls = calls
        self._config = config

    async def upload(self, file: Attachment) -> str:
        """Steps one and two: the bytes are with Slack, nobody sees them. Returns the file id. Raises ChannelError."""
        if not file.data:
            raise Refused(f"the file {file.name} is empty")
        if len(file.data) > UPLOAD_LIMIT:
            raise Refused(f"the file {file.name} is larger than Slack's 1 GB")
        try:
            slot = await self._calls.call(
                "files.getUploadURLExternal", filename=file.name, length=len(file.data)
            )
            await self._put(str(slot["upload_url"]), file)
        except Ambiguous as e:
            raise Unreachable(str(e)) from e  # nothing is visible yet: doing it again is safe
        return str(slot["file_id"])

    async def share(self, file_id: str, file: Attachment, address: Address, comment: str) -> None:
        """Step three: post it. Raises ChannelError."""
        await self._calls.into(
            address.chat,
            "files.completeUploadExternal",
            files=[{"id": file_id, "title": file.name}],
            channel_id=address.chat,
            thread_ts=address.thread,
            initial_comment=comment or None,
        )

    async def is_shared(self, file_id: str, chat: str) -> bool:
        """Whether step three happened. Raises ChannelError."""
        found = await self._calls.call("files.info", file=file_id)
        shares = found["file"].get("shares") or {}
        return any(chat in places for places in shares.values())

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        """The bytes; see CanDownload. Raises ChannelError."""
        limit = min(limit, self._config.download_limit)
        if attachment.size is not None and attachment.size > limit:
            raise Refused(f"{attachment.name} has {attachment.size} bytes; the limit is {limit}")
        url = attachment.ref or ""
        if url and "://" not in url:
            found = await self._calls.call("files.info", file=url)
            url = str(found["file"].get("url_private_download") or "")
        if not url or not self._trusted(url):
            raise Refused(f"{attachment.name} is not a file that Slack keeps")
        try:
            return await self._fetch(url, attachment, limit)
        except (aiohttp.ClientError, TimeoutError) as e:
            raise Unreachable(f"{attachment.name}: no answer from Slack") from e

    async def _put(self, url: str, file: Attachment) -> None:
        timeout = aiohttp.ClientTimeout(total=self._config.upload_timeout)
        try:
            async with self._calls.session.post(
                url, data=io.BytesIO(file.data or b""), timeout=timeout, proxy=proxy_for(url)
            ) as response:
                if response.status == 200:
                    return
                text = f"{file.name} was not taken: HTTP {response.status}"
        except (aiohttp.ClientError, TimeoutError) as e:
            raise translate("the upload", e) from e
        raise Unreachable(text) if response.status >= 500 else Refused(text)

    def _trusted(self, url: str) -> bool:
        """The token is for Slack's hosts, and for the one that the settings name."""
        parts, own = urlsplit(url), urlsplit(self._config.base_url)
        host = parts.hostname or ""
        slack = parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))
        return slack or (parts.scheme, parts.netloc) == (own.scheme, own.netloc)

    async def _fetch(self, url: str, attachment: Attachment, limit: int) -> bytes:
        timeout = aiohttp.ClientTimeout(total=self._config.upload_timeout)
        headers = {"Authorization": f"Bearer {self._config.bot_token}"}
        async with self._calls.session.get(
            url, headers=headers, timeout=timeout, allow_redirects=False, proxy=proxy_for(url)
        ) as response:
            if response.status >= 500:
                raise Unreachable(f"{attachment.name}: HTTP {response.status}")
            login = response.content_type == "text/html" and attachment.media_type != "text/html"
            if 300 <= response.status < 400 or (response.status == 200 and login):
                log.error("slack_missing_scope: %s", LOGIN_ADVICE, extra={"scope": "files:read"})
                raise Refused(f"{attachment.name}: {LOGIN_ADVICE}")
            if response.status != 200:
                raise Refused(f"{attachment.name} is gone (HTTP {response.status})")
            return await _read(response, attachment.name, limit)


async def _read(response: aiohttp.ClientResponse, name: str, limit: int) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK):
        data += chunk
        if len(data) > limit:
            raise Refused(f"{name} has more than {limit} bytes")
        await asyncio.sleep(0)
    return bytes(data)
