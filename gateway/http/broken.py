"""What is answered when our own code, or the database below it, fails: one line with an id, whose details the log has.

Programs get the API's shape of an error, whoever noticed it first; people get a sentence. Nothing of the failure itself
is in the answer.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Middleware

from gateway.engine.fence import AWAY

log = logging.getLogger(__name__)
JSON_PATHS = ("/api/", "/chat/", "/hooks/")
STARTED = web.RequestKey("started", bool)  # headers are out: nothing else can be answered
RETRY_S = 5
NO_STORE = {"Cache-Control": "no-store"}
BROKEN = {
    "en": "Something broke here. The log says more under {id}.",
    "zh": "此处出错。日志中可按 {id} 查到详情。",
}
AWAY_SAID = {
    "en": "The database does not answer: ask again in a moment. The log says more under {id}.",
    "zh": "数据库无响应，请稍后再试。日志中可按 {id} 查到详情。",
}


class NotHttp(logging.Filter):
    """Makes one line of what strangers send that is no HTTP, where the server would log a traceback for each."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; it is always logged."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            record.levelno, record.levelname = logging.INFO, "INFO"
            record.msg, record.args, record.exc_info = "request_unreadable", (), None
            record.reason = type(error).__name__
        return True


wire_log = logging.getLogger("gateway.http.wire")  # the server's own
wire_log.addFilter(NotHttp())

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def note_start(request: web.Request, response: web.StreamResponse) -> None:
    """Signal handler for `on_response_prepare`."""
    request[STARTED] = True


def answers_when_broken() -> Middleware:
    """Middleware for the whole server, the outermost: what handlers raise becomes an answer."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as e:
            if e.status < 400 or not request.path.startswith(JSON_PATHS):
                raise
            return _refused(e)
        except ConnectionError:
            raise  # whoever asked is gone
        except Exception as e:  # whatever it is, whoever asks is told that, and the log what
            if request.get(STARTED):
                raise
            return _failed(request, e)

    return middleware


def _refused(e: web.HTTPException) -> web.Response:
    """What the server itself refuses (no such address, too large), in the shape of all other refusals."""
    code = e.reason.lower().replace(" ", "_")
    headers = NO_STORE | ({"Allow": e.headers["Allow"]} if "Allow" in e.headers else {})
    body = {"error": code, "message": f"{e.reason}."}
    return web.json_response(body, status=e.status, headers=headers)


def _failed(request: web.Request, e: Exception) -> web.Response:
    away, found = isinstance(e, AWAY), secrets.token_hex(6)
    about = {"id": found, "method": request.method, "path": request.path}
    log.error("request_failed", extra=about, exc_info=e)
    status, code, texts = (503, "away", AWAY_SAID) if away else (500, "broken", BROKEN)
    headers = NO_STORE | ({"Retry-After": str(RETRY_S)} if away else {})
    if _wants_a_page(request):
        chinese = request.headers.get("Accept-Language", "").lower().startswith("zh")
        said = texts["zh" if chinese else "en"].format(id=found)
        return web.Response(status=status, text=said, headers=headers)
    body = {"error": code, "message": texts["en"].format(id=found), "id": found}
    return web.json_response(body, status=status, headers=headers)


def _wants_a_page(request: web.Request) -> bool:
    return "text/html" in request.headers.get("Accept", "") and not request.path.startswith(
        JSON_PATHS
    )
