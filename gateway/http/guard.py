"""What every request and every answer has to do with the browser's own protections.

Host: a page of a foreign name that was rebound to our address (DNS rebinding) still sends its own name. Origin: a
foreign page may post a form to us; its browser says from where. Answers carry a strict content security policy.
"""

import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

# Nothing inline, nothing foreign. `data:` and `blob:` are pictures only.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # not no-referrer: browsers then post forms with "Origin: null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PROBES = (
    "/healthz",
    "/readyz",
    "/metrics",
)  # asked by address, from inside a cluster; they tell no secrets
MACHINES = ("/webhooks/", "/hooks/", "/api/")  # programs send no Origin; they sign or carry a token
SAFE = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not bound to

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _split(host: str) -> tuple[str, str]:
    """(name in lower case, netloc) of a Host header; empty when it is none."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return "", ""
    return (parts.hostname or "").lower(), parts.netloc.lower()


class _Guard:
    def __init__(self, host: str, public_url: str | None) -> None:
        self._host = host.lower()
        self._public = urlsplit(public_url) if public_url else None

    def host_allowed(self, header: str) -> bool:
        """Whether this is a name of ours. The port is free: containers map it."""
        name, netloc = _split(header)
        if not name:
            return False
        if self._public and netloc == self._public.netloc.lower():
            return True
        if name in {self._host, *LOOPBACK}:
            return True
        return self._host in WILDCARDS and _is_ip(name)  # an address cannot be rebound

    def origin_allowed(self, request: web.Request) -> bool:
        """Whether a page of ours asks, or no page at all where programs may."""
        origin = request.headers.get("Origin")
        if origin is None:
            if request.headers.get("Sec-Fetch-Site", "same-origin") in {"cross-site", "same-site"}:
                return (
                    request.method in SAFE and request.headers.get("Sec-Fetch-Mode") == "navigate"
                )
            return request.method in SAFE or request.path.startswith(MACHINES)
        host = request.host.lower()
        allowed = {f"http://{host}", f"https://{host}"}
        if self._public:
            allowed.add(f"{self._public.scheme}://{self._public.netloc}".lower())
        return origin.lower() in allowed


def host_origin_guard(host: str, public_url: str | None = None) -> Middleware:
    """Middleware that answers 403 to foreign names and foreign pages. `host` is what the server listens on."""
    guard = _Guard(host, public_url)

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in PROBES:
            return await handler(request)
        if not guard.host_allowed(request.host):
            return _refuse(
                "host",
                f"Unknown host {request.host!r}: set http.public_url to the address you use.",
            )
        if not guard.origin_allowed(request):
            return _refuse("origin", "This request comes from another site's page.")
        return await handler(request)

    return middleware


def _refuse(code: str, message: str) -> web.Response:
    return web.json_response({"error": code, "message": message}, status=403)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Signal handler for `on_response_prepare`: every answer, streams and errors too. A handler's own header stays."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
