"""Whether an endpoint of models answers, takes the key, and has the model. Costs nothing: models are listed, not asked.

By plain HTTP, since loading an SDK takes longer than the question.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from agent_core.models.catalog import Kind

SECONDS = 10.0
# Where each SDK goes by itself, with the part that it adds to an address of one's own.
_HOME: Mapping[Kind, tuple[str, str]] = {
    "anthropic": ("https://api.anthropic.com", "/v1"),
    "openai": ("https://api.openai.com/v1", ""),
    "gemini": ("https://generativelanguage.googleapis.com", "/v1beta"),
}
_PAGE: Mapping[Kind, str] = {"anthropic": "?limit=1000", "openai": "", "gemini": "?pageSize=1000"}
# listed: the model is there. unlisted: it is not among those that are. answers: no list to be had.
Verdict = Literal["listed", "unlisted", "answers", "refused", "silent"]


@dataclass(frozen=True, slots=True)
class Reached:
    """What came of it. `said` is one line without any secret, for all but listed; `count` models were listed."""

    verdict: Verdict
    said: str = ""
    count: int = 0


def home(kind: Kind, base_url: str | None) -> str:
    """The address below which an endpoint has `/models`."""
    place, version = _HOME[kind]
    return f"{(base_url or place).rstrip('/')}{version}"


async def reach(kind: Kind, base_url: str | None, key: str, model: str) -> Reached:
    """Ask for the list of models, and for the model by its name where that is not in it. Never raises."""
    import aiohttp

    limit, headers = aiohttp.ClientTimeout(total=SECONDS), _headers(kind, key)
    models = f"{home(kind, base_url)}/models"
    try:
        async with aiohttp.ClientSession(timeout=limit, trust_env=True, headers=headers) as session:
            async with session.get(f"{models}{_PAGE[kind]}", allow_redirects=False) as answer:
                told = _told(answer.status, await _json(answer), model)
            if told.verdict != "unlisted":
                return told
            # an alias is in no list, and has a page of its own
            async with session.get(
                f"{models}/{quote(model, safe='')}", allow_redirects=False
            ) as one:
                return Reached("listed", count=told.count) if one.status == 200 else told
    except TimeoutError:
        return Reached("silent", f"no answer within {SECONDS:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Reached("silent", f"no connection ({type(error).__name__})")


def _headers(kind: Kind, key: str) -> dict[str, str]:
    if not key:
        return {}
    if kind == "anthropic":
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return {"x-goog-api-key": key} if kind == "gemini" else {"Authorization": f"Bearer {key}"}


async def _json(answer: Any) -> Any:
    try:
        return await answer.json(content_type=None)
    except ValueError:
        return None


def _told(status: int, body: Any, model: str) -> Reached:
    if status in {401, 403} or (status == 400 and "API_KEY_INVALID" in str(body)):
        return Reached("refused", f"the key is refused ({status})")
    if status == 429 or status >= 500:
        return Reached("silent", f"status {status}")
    names = _names(body) if status == 200 else None
    if names is None:
        return Reached("answers", f"it lists no models (status {status})")
    if model in names:
        return Reached("listed", count=len(names))
    return Reached("unlisted", f"{model} is not among the {len(names)} models there", len(names))


def _names(body: Any) -> set[str] | None:
    """The ids of a listing: `data` with `id`, or Gemini's `models` with `name`."""
    rows = (body.get("data") or body.get("models")) if isinstance(body, dict) else None
    if not isinstance(rows, list):
        return None
    named = (row.get("id") or row.get("name") for row in rows if isinstance(row, dict))
    return {str(name).removeprefix("models/") for name in named if name}
