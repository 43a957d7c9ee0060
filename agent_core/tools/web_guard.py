"""Which addresses of the web a tool may reach: public hosts by http(s), nothing of this machine or its networks.

An address is judged three times: as it is written, when its name is resolved (a host with one private address is
refused whole), and when the socket is made, which is the last moment and sees what is really connected to. A name is
resolved once for a connection, so that a second look-up cannot answer otherwise (DNS rebinding).
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from agent_core.tools.spec import ToolFailure

if TYPE_CHECKING:
    from aiohttp import TCPConnector

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
PORTS = frozenset({80, 443})
URL_CHARS = 2_000
# Another way to write an IPv4 address: mapped, and NAT64, by which IPv6-only networks reach public hosts.
_WITH_IPV4 = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96")))
# Public by their number in some versions of Python, but answered by the cloud, by tunnels, or by no single host:
# Azure's and Oracle's own addresses, 6to4 with its relays, Teredo, local NAT64, site-local, IPv4-compatible ones.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            *("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "2002::/16", "2001::/23"),
            *("64:ff9b:1::/48", "fec0::/10", "::/96"),
        ),
    )
)
# What a C library would take for an IPv4 address: 127.1, 2130706433, 0177.0.0.1, 0x7f.1
_NUMBERS = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE)


class Forbidden(ToolFailure):
    """The address leads where no tool may go."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one installation.

    Args:
        ports: further ports beside 80 and 443.
        allowed: `host:port` pairs that no rule refuses, for a server that a test runs on loopback.
        lookup: the addresses of a host name; the system's own by default.
    """

    ports: frozenset[int] = frozenset()
    allowed: frozenset[str] = frozenset()
    lookup: Lookup | None = None

    def check(self, url: str) -> str:
        """The address as it is asked for. Raises Forbidden, with the cure, before anything is sent."""
        if len(url) > URL_CHARS:
            raise Forbidden(f"The address is longer than {URL_CHARS} characters.")
        parts = _split(url.strip())
        if parts.scheme not in {"http", "https"}:
            raise Forbidden("Only http:// and https:// addresses can be read.")
        if parts.username is not None or parts.password is not None:
            raise Forbidden("An address with a user name or password is not read; leave it out.")
        host, port = parts.hostname or "", _port(parts)
        if not host:
            raise Forbidden("The address names no host.")
        if f"{host}:{port}" not in self.allowed:
            self._judge(host, port)
        return parts._replace(fragment="").geturl()

    def _judge(self, host: str, port: int) -> None:
        if port not in PORTS | self.ports:
            raise Forbidden(f"Port {port} is not read: only 80 and 443 are open.")
        literal = _literal(host)
        if literal is not None and (why := reason(literal)):
            raise Forbidden(f"{host} is not read: {why}.")
        if literal is None and _is_local(host):
            raise Forbidden(f"{host} is not read: it names this machine or its network.")

    async def addresses(self, host: str, port: int) -> list[str]:
        """What a host name resolves to. Raises Forbidden when one of the addresses is none that may be reached."""
        found = list(await (self.lookup or system_lookup)(host, port))
        if f"{host}:{port}" in self.allowed:
            return found
        for text in found:
            if why := reason(ipaddress.ip_address(text.partition("%")[0])):
                raise Forbidden(f"{host} is not read: {why}, by one of its addresses.")
        return found

    def connector(self) -> "TCPConnector":
        """A connector that reaches nothing else. It keeps no connection and remembers no name."""
        from aiohttp import TCPConnector

        from agent_core.tools.web_resolver import GuardedResolver

        return TCPConnector(
            resolver=GuardedResolver(self.addresses),
            use_dns_cache=False,
            force_close=True,
            limit=4,
            socket_factory=self._socket,
        )

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        """A socket for what aiohttp is about to connect to: the last look at the address itself."""
        family, kind, protocol, _, where = info
        host, port = str(where[0]), int(where[1])
        if f"{host}:{port}" not in self.allowed:
            why = reason(ipaddress.ip_address(host.partition("%")[0]))
            if why or port not in PORTS | self.ports:
                raise Forbidden(f"{host}:{port} is not read: {why or 'its port is not open'}.")
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made


def reason(address: IpAddress) -> str:
    """Why an address may not be reached, as "it is …"; "" when it may."""
    if address.is_loopback or address.is_unspecified:
        return "it is this machine"
    if any(address in network for network in _WITH_IPV4):
        return reason(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if any(address in network for network in _SPECIAL):
        return "it is special to this network"
    if address.is_link_local:
        return "it is link-local, where clouds keep their metadata"
    if address.is_multicast or address.is_reserved:
        return "it is no single public host"
    return "" if address.is_global else "it is private"


async def system_lookup(host: str, port: int) -> list[str]:
    """The addresses that this system gives a name. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _split(url: str) -> SplitResult:
    if re.search(r"[\x00-\x20\x7f\\]", url):
        raise Forbidden("The address holds a space, a backslash or a control character.")
    try:
        return urlsplit(url)
    except ValueError as error:
        raise Forbidden(f"This is no address: {error}.") from error


def _port(parts: SplitResult) -> int:
    try:
        return parts.port if parts.port is not None else {"http": 80}.get(parts.scheme, 443)
    except ValueError as error:
        raise Forbidden("The port of the address is none.") from error


def _literal(host: str) -> IpAddress | None:
    """The address that a host is written as, or None for a name. Raises Forbidden for other spellings of one."""
    if "%" in host:
        raise Forbidden("An address with a zone is not read.")
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        if ":" in host or _NUMBERS.fullmatch(host):
            message = f"{host} is not read: write the host's name, or its address as four numbers."
            raise Forbidden(message) from None
        return None


def _is_local(host: str) -> bool:
    name = host.rstrip(".").lower()
    ends = (".localhost", ".local", ".internal", ".localdomain", ".home.arpa", ".onion")
    return name == "localhost" or "." not in name or name.endswith(ends)
