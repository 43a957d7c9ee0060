"""Which addresses of the web a tool may reach: no machine, network or cloud of ours, however it is spelled."""

import ipaddress
from collections.abc import Sequence

import pytest

from agent_core.tools.spec import ToolFailure
from agent_core.tools.web_fetch import REDIRECTS, fetch
from agent_core.tools.web_guard import Forbidden, Guard, reason
from tests.unit.agent_core.outside_desk import site


def resolving(*addresses: str) -> Guard:
    async def lookup(host: str, port: int) -> Sequence[str]:
        return addresses

    return Guard(lookup=lookup)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
        *("224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.88.99.1", "203.0.113.9"),
        *("::1", "::", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1"),
    ],
)
def test_no_address_of_ours_is_reached(address: str) -> None:
    """Loopback, private, link-local, CGNAT, multicast, metadata; within IPv6 as well."""
    assert reason(ipaddress.ip_address(address))
    literal = f"[{address}]" if ":" in address else address
    with pytest.raises(Forbidden, match="not read"):
        Guard().check(f"http://{literal}/latest/meta-data/")


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_reached(address: str) -> None:
    """NAT64 is how an IPv6-only network reaches a public IPv4 host."""
    assert reason(ipaddress.ip_address(address)) == ""


@pytest.mark.parametrize(
    "url",
    [
        *("http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/"),
        *("http://0x7f.1/", "http://127.0.0.1./", "http://[fe80::1%25eth0]/", "http://[::1]:80/"),
        *("http://localhost/", "http://LOCALHOST./", "http://printer/", "http://a.localhost/"),
        *("http://metadata.google.internal/", "http://nas.local/", "http://x.home.arpa/"),
        *("ftp://example.org/", "file:///etc/passwd", "gopher://example.org/", "javascript:1"),
        *("http://user@example.org/", "http://u:p@example.org/", "http://example.org:22/"),
        *("http://example.org:99999/", "http:///x", "http://exa mple.org/", "http://a\\@b.org/"),
        *("http://[::1", "example.org", "http://a.org/\r\nHost: b", "http://" + "a" * 2_100),
    ],
)
def test_what_is_refused_as_it_is_written(url: str) -> None:
    with pytest.raises(Forbidden):
        Guard().check(url)


def test_an_ordinary_address_is_taken_without_its_fragment() -> None:
    assert Guard().check("https://example.org/a?b=1#c") == "https://example.org/a?b=1"
    assert Guard(ports=frozenset({8080})).check("http://example.org:8080/")
    assert Guard().check("http://münchen.example/ä")


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["2606:4700::1", "::ffff:10.0.0.1"],
        ["fe80::1"],
    ],
)
async def test_a_name_with_one_private_address_is_refused_whole(addresses: list[str]) -> None:
    guard = resolving(*addresses)
    with pytest.raises(Forbidden, match="one of its addresses"):
        await guard.addresses("news.example", 443)
    with pytest.raises(ToolFailure, match=r"news\.example is not read"):
        await fetch(guard, "https://news.example/")


async def test_a_name_is_resolved_once_and_that_address_is_connected_to() -> None:
    """DNS rebinding: the answer of a second look-up would lead inside, so there is none."""

    async def handler(request):  # type: ignore[no-untyped-def]
        from aiohttp import web

        return web.Response(text="hello", content_type="text/plain")

    async with site(handler) as it:
        came = await fetch(it.guard, it.url("/a"))
        assert came.data == b"hello"
        assert it.looked_up == ["news.example"]


async def test_the_socket_is_judged_once_more() -> None:
    """Where the resolver were fooled, the connection would still not be made."""
    guard = Guard()
    info = (2, 1, 6, "", ("169.254.169.254", 80))
    with pytest.raises(Forbidden, match="link-local"):
        guard._socket(info)
    with pytest.raises(Forbidden, match="port"):
        guard._socket((2, 1, 6, "", ("8.8.8.8", 22)))
    guard._socket((2, 1, 6, "", ("8.8.8.8", 443))).close()


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "link-local"),
        ("http://inside.example/", "private"),
        ("http://127.0.0.1:1/", "Port 1"),
        ("http://2130706433/", "four numbers"),
        ("file:///etc/passwd", "http"),
        ("//u:p@news.example/", "password"),
    ],
)
async def test_a_redirect_is_judged_like_an_address(to: str, why: str) -> None:
    from aiohttp import web

    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": to})

    async with site(handler) as it:
        with pytest.raises(ToolFailure, match=why):
            await fetch(it.guard, it.url("/start"))
        assert it.paths == ["/start"]


async def test_redirects_are_followed_five_times() -> None:
    from aiohttp import web

    async def handler(request: web.Request) -> web.Response:
        left = int(request.path.strip("/"))
        if left:
            return web.Response(status=301, headers={"Location": f"/{left - 1}"})
        return web.Response(text="there", content_type="text/plain")

    async with site(handler) as it:
        came = await fetch(it.guard, it.url(f"/{REDIRECTS}"))
        assert (came.url, came.data) == (it.url("/0"), b"there")
        with pytest.raises(ToolFailure, match="More than 5 redirects"):
            await fetch(it.guard, it.url(f"/{REDIRECTS + 1}"))
