import asyncio
import subprocess
import sys
import time

import pytest
from aiohttp import web

from agent_core.models import catalog
from agent_core.models.discover import Endpoint, discover, local_endpoints
from agent_core.ports import Price
from tests.twins.openai import OpenAITwin


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-5-5", 200_000),
        ("gemini-2.5-flash", 1_000_000),
        ("deepseek-chat", 64_000),
        ("gpt-5", 128_000),
        ("o3-mini", 128_000),
        ("gpt-4", 8_192),
        ("moonshot-v1-32k", 32_768),
        ("Qwen3-Max", 128_000),
        ("somebodys-own", 64_000),
    ],
)
def test_windows_follow_the_name(model: str, window: int) -> None:
    """MDL-1, TOK-3."""
    assert catalog.window_of(model) == window


def test_settings_win_by_full_name_or_by_model() -> None:
    """MDL-1, TOK-3, MDL-3."""
    own = {
        "qwen/qwen-plus": {"context_window": 1_000_000, "max_output_tokens": 9_000},
        "private": {"input_per_mtok": 1.0, "output_per_mtok": 2.0, "cache": "none"},
    }
    info = catalog.info("qwen/qwen-plus", own, "openai")
    assert (info.context_window, info.max_output_tokens, info.cache) == (1_000_000, 9_000, "prefix")
    info = catalog.info("lab/private", own, "openai")
    assert (info.context_window, info.cache) == (64_000, "none")
    assert info.price == Price(1.0, 2.0, 0.1, 1.25)


def test_an_unknown_price_is_unknown_never_zero() -> None:
    """MDL-3."""
    assert catalog.info("lab/own-model", {}, "openai").price is None
    assert catalog.info("ollama/llama3.3", {}, "openai").price is None
    assert catalog.info("lab/x", {"lab/x": {"input_per_mtok": 1.0}}, "openai").price is None
    assert catalog.cost(None, fresh=1, output=1) is None


def test_known_prices_come_from_the_offline_data() -> None:
    info = catalog.info("anthropic/claude-sonnet-4-5", {}, "anthropic")
    assert info.price == Price(3.0, 15.0, 0.3, 3.75)
    assert (info.cache, info.vision) == ("breakpoint", True)
    assert catalog.price_of("deepseek", "deepseek-chat") is not None
    half = catalog.info("openai/gpt-5", {"gpt-5": {"output_per_mtok": 99.0}}, "openai")
    assert half.price is not None
    assert (half.price.input, half.price.output) == (1.25, 99.0)


def test_cost_counts_reads_and_both_kinds_of_writes() -> None:
    """PCH-4."""
    price = Price(3.0, 15.0, 0.3, 3.75)
    usd = catalog.cost(price, fresh=100, output=10, read=1000, write=500, long=200)
    assert usd == pytest.approx((300 + 150 + 300 + 300 * 3.75 + 200 * 6) / 1e6)


def test_smallest_cacheable_prefixes() -> None:
    assert catalog.smallest_cacheable("claude-sonnet-5-5") == 1_024
    assert catalog.smallest_cacheable("claude-opus-4-8") == 4_096


@pytest.mark.parametrize("name", ["deepseek", "qwen", "kimi", "zhipu", "openrouter", "ollama"])
def test_ready_entries(name: str) -> None:
    entry = catalog.PROVIDERS[name]
    assert entry.kind == "openai"
    assert entry.base_url


def test_importing_the_providers_loads_no_sdk_and_no_prices() -> None:
    """Start-up time and idle memory are product features."""
    code = (
        "import sys, agent_core.models.anthropic, agent_core.models.openai, agent_core.models.catalog,"
        " agent_core.models.discover, agent_core.models.fallback;"
        "print([m for m in ('anthropic', 'openai', 'httpx2', 'genai_prices', 'aiohttp', 'pydantic')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_key_decides_first() -> None:
    """DESIGN 8."""
    choice = await discover({"deepseek": None, "anthropic": None}, [])
    assert choice.model == "deepseek/deepseek-chat"
    assert "deepseek" in choice.why["en"]
    assert "deepseek" in choice.why["zh"]
    assert (await discover({"anthropic": "claude-opus-5"}, [])).model == "anthropic/claude-opus-5"


async def test_then_a_local_server_that_has_a_chat_model() -> None:
    twin = OpenAITwin()
    twin.models = ["nomic-embed-text", "llama3.3"]
    await twin.start()
    dead = Endpoint("ollama", "http://127.0.0.1:9/v1")
    choice = await discover({}, [dead, Endpoint("lmstudio", f"{twin.url}/v1")], timeout=5)
    await twin.stop()
    assert (choice.model, choice.base_url) == ("lmstudio/llama3.3", f"{twin.url}/v1")


async def test_else_the_demo_within_the_bound_of_one_probe() -> None:
    async def nonsense(_: web.Request) -> web.Response:
        return web.Response(text="<html>not a model</html>")

    async def silent(_: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    app = web.Application()
    app.router.add_get("/a/models", nonsense)
    app.router.add_get("/b/models", silent)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    began = time.monotonic()
    choice = await discover({}, [Endpoint("vllm", f"{url}/{p}") for p in "abb"])
    assert time.monotonic() - began < 2
    await runner.cleanup()
    assert choice.model == "demo"


def test_the_usual_places() -> None:
    assert [e.base_url.split(":")[2] for e in local_endpoints()] == [
        "11434/v1",
        "1234/v1",
        "8080/v1",
        "8000/v1",
    ]
