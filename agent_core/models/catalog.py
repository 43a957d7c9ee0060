"""What is known about models: windows, output limits, sight, kind of cache, prices; and the ready provider entries.

Settings win over everything here. Prices come from the package `genai-prices`, which holds them offline; it is
imported at the first look-up (measured: 30 ms and 4.3 MB once pydantic and an SDK are loaded, 0.25 s alone), so call
`info` and `price_of` through `asyncio.to_thread` where a loop runs. An unknown price is None, never 0 (MDL-3).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from agent_core.models.tokens import DEFAULT_WINDOW
from agent_core.ports import CacheKind, ModelInfo, Price
from agent_core.types import Usage

Kind = Literal["anthropic", "openai", "gemini"]
Overrides = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A ready entry of `models.providers`. `prices` is its id in genai-prices; "" has none (local servers)."""

    kind: Kind
    base_url: str | None
    key_env: str
    model: str
    prices: str


# Addresses and model names: each provider's own API documentation.
PROVIDERS: Mapping[str, ProviderEntry] = {
    "anthropic": ProviderEntry(
        "anthropic", None, "ANTHROPIC_API_KEY", "claude-sonnet-5-5", "anthropic"
    ),
    "openai": ProviderEntry("openai", None, "OPENAI_API_KEY", "gpt-5", "openai"),
    "gemini": ProviderEntry("gemini", None, "GEMINI_API_KEY", "gemini-2.5-flash", "google"),
    "deepseek": ProviderEntry(
        "openai", "https://api.deepseek.com", "DEEPSEEK_API_KEY", "deepseek-chat", "deepseek"
    ),
    "qwen": ProviderEntry(
        "openai",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        "qwen-plus",
        "",
    ),
    "kimi": ProviderEntry(
        "openai", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", "kimi-k2.5", "moonshotai"
    ),
    "zhipu": ProviderEntry(
        "openai", "https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY", "glm-4.7", "zhipuai"
    ),
    "openrouter": ProviderEntry(
        "openai",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "anthropic/claude-sonnet-4.5",
        "openrouter",
    ),
    "ollama": ProviderEntry("openai", "http://127.0.0.1:11434/v1", "", "", ""),
    "lmstudio": ProviderEntry("openai", "http://127.0.0.1:1234/v1", "", "", ""),
    "llamacpp": ProviderEntry("openai", "http://127.0.0.1:8080/v1", "", "", ""),
    "vllm": ProviderEntry("openai", "http://127.0.0.1:8000/v1", "", "", ""),
}

# Window by name (MDL-1, TOK-3): the first pattern that matches. Conservative on purpose: a window that is too small
# compacts early, one that is too large fails. `models.overrides` raises it.
_WINDOWS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), size)
    for pattern, size in (
        (r"claude", 200_000),
        (r"gemini", 1_000_000),
        (r"deepseek", 64_000),
        (r"gpt-3\.5", 16_385),
        (r"gpt-4(-0314|-0613)?$", 8_192),
        (r"gpt|chatgpt|(^|/)o[134](-|$)", 128_000),
        (r"qwen|kimi|glm|grok|mistral-large|llama-?[34]", 128_000),
    )
)
_OUTPUTS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), size)
    for pattern, size in (
        (r"claude-(2|3-(opus|haiku|sonnet))|claude-instant", 4_096),
        (r"claude-3[.-]5", 8_192),
        (r"claude-opus-4-?[01]?(-2|$)", 32_000),
        (r"claude", 64_000),
        (r"gemini-2\.5|gemini-[3-9]", 65_536),
        (r"gpt-(4o|4\.1)", 16_384),
        (r"gpt-[5-9]|(^|/)o[134](-|$)", 100_000),
        (r"deepseek|qwen|kimi|glm|grok|gemini", 8_192),
    )
)
_DEFAULT_OUTPUT = 4_096
_SEES = re.compile(
    r"claude-(?!2|instant)|gpt-(4o|4\.1|4-turbo|[5-9])|gemini|(^|/)o[34](-|$)|kimi-k[23]\.|-vl|vl-|llava|vision|pixtral"
    r"|glm-\d+(\.\d+)?v"
)
_SIZE_SUFFIX = re.compile(r"-(\d{1,4})k($|-)")  # moonshot-v1-32k


def info(name: str, overrides: Overrides, kind: str) -> ModelInfo:
    """Facts about `<provider>/<model>`.

    Args:
        name: full name; the model part may hold slashes itself.
        overrides: `models.overrides` of the settings, by full name or by model part: context_window, vision, cache,
            max_output_tokens, input_per_mtok, output_per_mtok, cache_read_per_mtok, cache_write_per_mtok.
        kind: anthropic, openai, gemini or demo.
    """
    provider, _, model = name.partition("/")
    own = overrides.get(name) or overrides.get(model) or {}
    size = own.get("context_window")
    return ModelInfo(
        name=name,
        context_window=size if size is not None else window_of(model),
        max_output_tokens=own.get("max_output_tokens") or output_of(model),
        vision=own["vision"] if own.get("vision") is not None else bool(_SEES.search(model)),
        cache=own.get("cache") or cache_of(kind),
        price=_price(own, provider, model),
    )


def window_of(model: str) -> int:
    """Tokens of the window by the model's name; 64,000 where the name says nothing (TOK-3)."""
    if match := _SIZE_SUFFIX.search(model):
        return int(match[1]) * 1_024
    return _first(_WINDOWS, model, DEFAULT_WINDOW)


def output_of(model: str) -> int:
    """The most tokens that one answer may have."""
    return _first(_OUTPUTS, model, _DEFAULT_OUTPUT)


def _first(table: tuple[tuple[re.Pattern[str], int], ...], model: str, default: int) -> int:
    lower = model.lower()
    return next((size for pattern, size in table if pattern.search(lower)), default)


def cache_of(kind: str) -> CacheKind:
    """Anthropic caches up to marks, others cache any common prefix (guide "context_economics")."""
    return {"anthropic": "breakpoint", "openai": "prefix", "gemini": "prefix"}.get(kind, "none")  # type: ignore[return-value]


def smallest_cacheable(model: str) -> int:
    """Tokens below which Anthropic makes no cache entry (its prompt-caching page); 1,024 elsewhere."""
    if re.search(r"claude-(opus-4-[5-9]|opus-[5-9]|haiku-[4-9])", model):
        return 4_096
    return 2_048 if re.search(r"haiku", model) else 1_024


def _price(own: Mapping[str, Any], provider: str, model: str) -> Price | None:
    """The settings' price where it gives input and output, with gaps filled as in PCH-4; else the known one."""
    into, out = own.get("input_per_mtok"), own.get("output_per_mtok")
    if into is None and out is None:
        return price_of(provider, model)
    if into is None or out is None:
        known = price_of(provider, model)
        if known is None:
            return None
        into, out = (known.input if into is None else into), (known.output if out is None else out)
    read, write = own.get("cache_read_per_mtok"), own.get("cache_write_per_mtok")
    return Price(
        float(into),
        float(out),
        float(into * 0.1 if read is None else read),
        float(into * 1.25 if write is None else write),
    )


@cache
def price_of(provider: str, model: str) -> Price | None:
    """The offline price of a model; None where it is unknown. Slow at the first call: see the module's text.

    Tiered prices (dearer above some length) give their base. A missing cache price is that of plain input.
    """
    entry = PROVIDERS.get(provider)
    if entry is not None and not entry.prices:
        return None
    import datetime as dt

    from genai_prices import data_snapshot

    try:
        _, found = data_snapshot.get_snapshot().find_provider_model(
            model, None, entry.prices if entry else provider, None
        )
    except LookupError:
        return None
    prices = found.get_prices(dt.datetime.now(dt.UTC))
    into, out = _base(prices.input_mtok), _base(prices.output_mtok)
    if into is None or out is None:
        return None
    read, write = _base(prices.cache_read_mtok), _base(prices.cache_write_mtok)
    return Price(into, out, into if read is None else read, into if write is None else write)


def _base(price: Any) -> float | None:
    price = getattr(price, "base", price)
    return None if price is None else float(price)


def cost(
    price: Price | None, *, fresh: int, output: int, read: int = 0, write: int = 0, long: int = 0
) -> float | None:
    """US dollars of one call, or None where the price is unknown.

    Args:
        price: per million tokens.
        fresh: input tokens that no cache had.
        output: tokens written.
        read: tokens read from the cache.
        write: tokens written to it, `long` included.
        long: those written for an hour, which cost twice the input (Anthropic's prompt-caching page).
    """
    if price is None:
        return None
    total = fresh * price.input + output * price.output + read * price.cache_read
    return (total + (write - long) * price.cache_write + long * 2 * price.input) / 1_000_000


def usage_of(
    price: Price | None, *, fresh: int, output: int, read: int = 0, write: int = 0, long: int = 0
) -> Usage:
    """What one call used, with its cost, and its cost had nothing been cached; see `cost` for the numbers."""
    return Usage(
        input_tokens=fresh,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=write,
        usd=cost(price, fresh=fresh, output=output, read=read, write=write, long=long),
        cache_write_1h_tokens=long,
        usd_uncached=cost(price, fresh=fresh + read + write, output=output),
    )
