"""What a cookie of ours is called, and whether it travels over TLS alone."""

from urllib.parse import urlsplit

from aiohttp import web


class CookieOf:
    """The cookie `stem` of one gateway, as it is called in each request."""

    def __init__(self, stem: str, public_url: str | None) -> None:
        self._stem = stem
        self._public = urlsplit(public_url or "")

    def secure(self, request: web.Request) -> bool:
        """Whether the browser asks for the public address, and that is https."""
        return self._public.scheme == "https" and request.host == self._public.netloc

    def name(self, request: web.Request) -> str:
        """Cookies know no ports: two gateways on one machine need two names."""
        if self.secure(request):
            return f"__Host-{self._stem}"
        return f"{self._stem}-{urlsplit('//' + request.host).port or 80}"

    def put(
        self, request: web.Request, response: web.StreamResponse, value: str, seconds: int
    ) -> None:
        """Send it with this response: for no script, and for no request that another site makes."""
        response.set_cookie(
            self.name(request),
            value,
            max_age=seconds,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=self.secure(request),
        )

    def drop(self, request: web.Request, response: web.StreamResponse) -> None:
        """Have the browser delete it with this response."""
        response.del_cookie(
            self.name(request),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=self.secure(request),
        )
