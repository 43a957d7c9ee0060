"""What stands open: to whom, and how to close it."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from gateway.doctor.findings import Finding, fail, ok, warn
from gateway.doctor.ground import Ground
from gateway.problems import Problem
from gateway.settings.settings import Settings

LOOPBACK = {"127.0.0.1", "::1", "localhost"}
SHORTEST = 16  # characters of a secret that cannot be guessed
TELEGRAM_TOKEN = 35  # characters of a Telegram token after its colon
MOST_ADDRESSES = 65_536  # of a trusted proxy: a /16
TLS_MODES = {"require", "verify-ca", "verify-full"}  # of PostgreSQL's client
OPEN_PLATFORMS = ("telegram", "discord")  # where strangers find a bot by its name


def plain_http(ground: Ground) -> Iterator[Finding]:
    """Log-in codes, tokens and chats go through the network as they are."""
    http = ground.settings.http
    if http.host in LOOPBACK and (http.public_url is None or _closed(http.public_url)):
        yield ok("http", f"listens on {http.host} alone, port {http.port}")
    elif http.public_url and _closed(http.public_url):
        what = f"listens on {http.host}, for a proxy that ends TLS for {http.public_url}"
        yield ok("http", what)
    else:
        key = "http.public_url" if http.public_url else "http.host"
        what = "others in the network can read log-ins and chats: there is no TLS"
        cure = "let a proxy end TLS and set http.public_url: https://…, or http.host: 127.0.0.1"
        yield warn(f"settings.{key}", _at(ground.settings, key, what, cure))


def console_tokens(ground: Ground) -> Iterator[Finding]:
    """The operators' token must not be guessed where the network asks for it. Without one a strong one is made."""
    http = ground.settings.http
    token = http.console_token
    if token and len(token.get_secret_value()) < SHORTEST and http.host not in LOOPBACK:
        cure = f"use {SHORTEST} characters or more, or leave it out: one is made and kept"
        key = "http.console_token"
        yield fail(f"settings.{key}", _at(ground.settings, key, "is too short", cure))


def trusted_proxy(ground: Ground) -> Iterator[Finding]:
    """Who may say who somebody is."""
    proxy = ground.settings.console.proxy
    if proxy.header is None:
        return
    key = "console.proxy.addresses"
    if not proxy.addresses:
        what, cure = (
            "nobody may send the header, so nobody logs in by it",
            "name the proxy's address",
        )
        yield warn(f"settings.{key}", _at(ground.settings, key, what, cure))
    for network in proxy.addresses:
        if network.num_addresses > MOST_ADDRESSES and not network.is_loopback:
            what = f"whoever is in {network} may log in as anybody, by a header"
            cure = "name the proxy's own address"
            yield fail(f"settings.{key}", _at(ground.settings, key, what, cure))


def open_access(ground: Ground) -> Iterator[Finding]:
    """Strangers are let in, and to what."""
    settings = ground.settings
    if settings.access.default != "allow":
        return
    found = [name for name in OPEN_PLATFORMS if getattr(settings.channels, name).bots()]
    if not found:
        return
    who, cure = f"whoever finds the bot on {' or '.join(found)}", "set access.default: pairing"
    if settings.tools.exec_command_on_platforms or settings.trading.live:
        what = (
            "may ask for shell commands"
            if settings.tools.exec_command
            else "may ask for live orders"
        )
        yield fail(
            "settings.access.default", _at(settings, "access.default", f"{who} {what}", cure)
        )
    else:
        what = f"{who} spends your budget"
        yield warn("settings.access.default", _at(settings, "access.default", what, cure))


def webhook_secrets(ground: Ground) -> Iterator[Finding]:
    """Tokens that were cut off, and proofs that can be guessed."""
    telegram = ground.settings.channels.telegram
    names = {f"channels.telegram.accounts.{name}": bot for name, bot in telegram.accounts.items()}
    for key, bot in {"channels.telegram": telegram, **names}.items():
        if not bot.enabled:
            continue
        token = bot.token.get_secret_value() if bot.token else ""
        if len(token.partition(":")[2]) < TELEGRAM_TOKEN:
            problem = _at(
                ground.settings, f"{key}.token", "is too short", "copy it whole from @BotFather"
            )
            yield fail(f"settings.{key}.token", problem)
        secret = bot.webhook_secret.get_secret_value() if bot.webhook_secret else ""
        if bot.mode == "webhook" and len(secret) < SHORTEST:
            what, cure = (
                "can be guessed",
                f"use {SHORTEST} characters at least, such as of `openssl rand -hex 24`",
            )
            problem = _at(ground.settings, f"{key}.webhook_secret", what, cure)
            yield fail(f"settings.{key}.webhook_secret", problem)


def keys_in_the_clear(ground: Ground) -> Iterator[Finding]:
    """Addresses outside of this machine and its network that get a secret without TLS."""
    for key, address in _with_secrets(ground.settings):
        if not _closed(address):
            what, cure = "a secret goes there without TLS", "write https://…"
            yield warn(f"settings.{key}", _at(ground.settings, key, what, cure))


def database_in_the_clear(ground: Ground) -> Iterator[Finding]:
    """PostgreSQL's own default takes a connection without TLS where the server, or somebody between, offers none."""
    secret = ground.settings.database
    if secret is None:
        return
    parts = urlsplit(secret.get_secret_value())
    mode = parse_qs(parts.query).get("sslmode", [""])[0]
    if parts.hostname and not _closed(f"//{parts.netloc}") and mode not in TLS_MODES:
        what, cure = (
            "conversations may go there without TLS",
            "add ?sslmode=verify-full, or require",
        )
        yield warn("settings.database", _at(ground.settings, "database", what, cure))


def _with_secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    for name, provider in settings.models.providers.items():
        if provider.api_key is not None and provider.base_url:
            yield f"models.providers.{name}.base_url", provider.base_url
    for name, server in settings.mcp.enabled().items():
        if server.url and server.headers:
            yield f"mcp.servers.{name}.url", server.url
    channels = settings.channels
    if channels.telegram.enabled:
        yield "channels.telegram.base_url", channels.telegram.base_url
    if channels.slack.enabled:
        yield "channels.slack.base_url", channels.slack.base_url
    if channels.discord.enabled:
        yield "channels.discord.api_url", channels.discord.api_url


def _closed(address: str) -> bool:
    """Whether nobody between can read: TLS, this machine, or a name or number of a private network."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme == "https" or host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal"))


def _at(settings: Settings, key: str, message: str, cure: str) -> Problem:
    return settings.refuse(key, message, cure).problems[0]
