"""What the page sends: fields of JSON objects, and the bytes of files. What does not fit is a RequestError."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from aiohttp import web

KEY = re.compile(r"[A-Za-z0-9-]{8,64}")
MAX_TEXT = 100_000  # characters; the server refuses JSON bodies over 1 MiB before that
MAX_DATA = 64  # bytes of a button's data, see channels.types.Button
MAX_NAME = 120  # characters of a file's name
UPLOAD_S = 120.0  # seconds for the bytes of one file
AT_ONCE = 8  # files in memory at a time
_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]{0,100}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")


class RequestError(Exception):
    """A request that is answered with an error: `code` for the page, one line for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


async def fields_of(request: web.Request) -> dict[str, Any]:
    """The JSON object in the body."""
    try:
        body = await request.json()
    except web.HTTPRequestEntityTooLarge:
        raise RequestError(413, "too_long", "The message is too long: send it in parts.") from None
    except (ValueError, RecursionError, LookupError):  # no JSON, too deep, an unknown charset
        body = None
    if request.content_type != "application/json" or not isinstance(body, dict):
        raise RequestError(400, "bad_request", "The body must be a JSON object.")
    return body


def text_of(fields: dict[str, Any], name: str) -> str:
    """A text that is not empty."""
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RequestError(
            400, "bad_request", f"The field {name} must be a text that is not empty."
        )
    return value


def words_of(fields: dict[str, Any], *, needed: bool) -> str:
    """The words of a message; with files it may have none."""
    value = fields.get("text", "")
    text = value if not needed and value == "" else text_of(fields, "text")
    if len(text) > MAX_TEXT:
        detail = f"A message has at most {MAX_TEXT} characters: send it in parts."
        raise RequestError(413, "too_long", detail)
    return text


def key_of(fields: dict[str, Any], name: str = "key") -> str:
    """An id that the page has made."""
    key = text_of(fields, name)
    if not KEY.fullmatch(key):
        raise RequestError(400, "bad_request", f"The field {name} must be a UUID.")
    return key


def data_of(fields: dict[str, Any]) -> str:
    """What a button carries."""
    data = text_of(fields, "data")
    if len(data.encode("utf-8", "replace")) > MAX_DATA:
        raise RequestError(400, "bad_request", f"A button's data has at most {MAX_DATA} bytes.")
    return data


def refs_of(fields: dict[str, Any], most: int) -> Sequence[str]:
    """The files of a message, each once."""
    refs = fields.get("files", [])
    if not isinstance(refs, list) or not all(isinstance(ref, str) for ref in refs):
        raise RequestError(400, "bad_request", "The field files must be a list of refs.")
    if len(refs) > most:
        raise RequestError(413, "files_many", f"A message has at most {most} files.")
    return list(dict.fromkeys(refs))


def file_name(request: web.Request) -> str:
    """What a file is called, without folders: `?name=`."""
    name = _UNPRINTABLE.sub(" ", request.query.get("name", "")).replace("\\", "/")
    return name.rpartition("/")[2].strip()[-MAX_NAME:] or "file"


def media_type(request: web.Request) -> str:
    """What the browser says that a file is."""
    kind = request.content_type.lower()
    return kind if _TYPE.fullmatch(kind) else "application/octet-stream"


class Bytes:
    """Reads files, a few at a time."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def read(self, request: web.Request, most: int) -> bytes:
        """The body, at most `most` bytes."""
        if (request.content_length or 0) > most:
            raise _large(most)
        data = bytearray()
        try:
            async with asyncio.timeout(UPLOAD_S), self._slots:
                async for chunk in request.content.iter_any():
                    data += chunk
                    if len(data) > most:
                        raise _large(most)
        except TimeoutError:
            raise RequestError(408, "file_slow", "The file took too long: try again.") from None
        if not data:
            raise RequestError(400, "file_empty", "The file is empty.")
        return bytes(data)


def _large(most: int) -> RequestError:
    return RequestError(413, "file_large", f"A file has at most {most} bytes.")
