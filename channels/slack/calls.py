"""Every call of the Web API goes through here: one session, the flood gate, the mapping of errors.

The SDK's own retries are off: its handler for dropped connections sends again what may have arrived.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from channels.errors import ChannelError, FloodLimited, Unreachable
from channels.flood import FloodGate
from channels.slack.config import SlackConfig
from channels.slack.errors import code_of, translate

log = logging.getLogger(__name__)

Answer = Mapping[str, Any]

CONNECT_TIMEOUT = 5.0
POOL = 64
# These take no JSON body (docs.slack.dev/apis/web-api, "POST bodies"): reads, and the first step of an upload.
FORM = (
    "auth.test",
    "conversations.",
    "users.",
    "bots.",
    "files.info",
    "files.getUpload",
    "apps.",
)


class Calls:
    """Calls of one app. Close it; a later call opens a new session."""

    def __init__(self, config: SlackConfig, gate: FloodGate) -> None:
        self.gate = gate
        self._config = config
        self._client: AsyncWebClient | None = None
        self._told: set[str] = set()  # methods whose missing scope is in the log

    @property
    def session(self) -> aiohttp.ClientSession:
        """The one session; also for sockets and files."""
        return self._web().session or self._session()

    async def into(self, chat: str, method: str, **args: Any) -> Answer:
        """A call into a chat. Raises FloodLimited at once while the chat is limited, else any ChannelError."""
        if left := self.gate.left(chat):
            raise FloodLimited(left)
        try:
            return await self.call(method, **args)
        except FloodLimited as e:
            self.gate.limit(chat, e.retry_after)
            raise

    async def call(self, method: str, *, token: str | None = None, **args: Any) -> Answer:
        """One call; arguments that are None are left out. Raises ChannelError."""
        response = await self._respond(method, token, args)
        if not isinstance(response.data, dict):
            raise Unreachable(f"{method}: an answer that is not Slack's")
        return response.data

    async def identity(self) -> tuple[Answer, set[str] | None]:
        """auth.test, and the scopes that the token has, if Slack says. Raises ChannelError."""
        response = await self._respond("auth.test", None, {})
        said = response.headers.get("x-oauth-scopes")
        scopes = {scope.strip() for scope in said.split(",")} if said else None
        return (response.data if isinstance(response.data, dict) else {}), scopes

    async def _respond(
        self, method: str, token: str | None, args: dict[str, Any]
    ) -> AsyncSlackResponse:
        given = {key: value for key, value in args.items() if value is not None}
        headers = {"Authorization": f"Bearer {token}"} if token else None
        web = self._web()
        try:
            if method.startswith(FORM):
                body = {key: _flat(value) for key, value in given.items()}
                return await web.api_call(method, data=body, headers=headers)
            return await web.api_call(method, json=given, headers=headers)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as e:
            error = translate(method, e)
            self._tell(method, error)
            raise error from e

    def _tell(self, method: str, error: ChannelError) -> None:
        """A scope that is missing is said once for each method: somebody has to click."""
        if code_of(error) == "missing_scope" and method not in self._told:
            self._told.add(method)
            log.error("slack_missing_scope: %s", error, extra={"method": method})

    async def close(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None and client.session is not None:
            await client.session.close()

    def _web(self) -> AsyncWebClient:
        client = self._client
        if client is None or client.session is None or client.session.closed:
            client = self._client = AsyncWebClient(
                self._config.bot_token,
                base_url=self._config.base_url,
                session=self._session(),
                retry_handlers=[],
                user_agent_prefix="swarmgate",
            )
            client.proxy = proxy_for(self._config.base_url)
        return client

    def _session(self) -> aiohttp.ClientSession:
        timeout = aiohttp.ClientTimeout(
            total=self._config.read_timeout, sock_connect=CONNECT_TIMEOUT
        )
        connector = aiohttp.TCPConnector(limit=POOL, loop=asyncio.get_running_loop())
        return aiohttp.ClientSession(timeout=timeout, connector=connector)


def proxy_for(url: str) -> str | None:
    """HTTPS_PROXY and the like, NO_PROXY respected: the SDK ignores the latter."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get({"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme))


def _flat(value: object) -> object:
    """A form's value: objects as JSON, booleans in words."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value
