"""`swarmgate check` asks platforms and models, by the twins: what an operator reads of each fault (8 of 8, 5)."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from channels.slack.manifest import SCOPES
from tests.twins.anthropic import AnthropicTwin
from tests.twins.discord import DiscordTwin
from tests.twins.gemini import GeminiTwin
from tests.twins.openai import OpenAITwin
from tests.twins.slack import APP_TOKEN, BOT_TOKEN, SlackTwin
from tests.twins.telegram import TelegramTwin
from tests.unit.gateway.doctor_room import Room

NOBODY = "http://127.0.0.1:9"


class Late:
    """A clock that is so many seconds ahead."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC) + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def telegram(twin: TelegramTwin, *, token: str = "", url: str = "", more: str = "") -> str:
    return (
        f"channels: {{telegram: {{enabled: true, token: '{token or twin.token}', "
        f"base_url: '{url or twin.base_url}', base_file_url: '{twin.base_file_url}'{more}}}}}\n"
    )


async def test_a_telegram_bot_that_is_well_is_named(room: Room) -> None:
    async with TelegramTwin() as twin:
        room.writes(telegram(twin))
        told = await room.asks()
        assert f"channels.telegram: @{twin.state.me['username']}, polling" in told.lines("ok")
        assert told.sum == "fine"
        assert {c.path.rsplit("/")[-1] for c in twin.calls} <= {"getMe", "getWebhookInfo", ""}


async def test_what_is_amiss_with_a_telegram_bot_is_told(room: Room) -> None:
    async with TelegramTwin() as twin:
        wrong = "999:" + "x" * 35
        room.writes(telegram(twin, token=wrong))
        told = await room.asks()
        assert "Telegram refuses the token; ask @BotFather for it" in told.lines("fail")[0]
        assert wrong not in told.text
        twin.state.me["can_read_all_group_messages"] = False
        twin.state.webhook = {"url": "https://other.example/hook", "secret": None, "allowed": None}
        room.writes(f"{telegram(twin)}groups: {{mention: always}}\n")
        privacy, hook = (await room.asks()).lines("warn")
        assert "privacy mode is on" in privacy
        assert "@BotFather, /setprivacy, Disable" in privacy
        assert "posts its messages to https://other.example/hook" in hook
        twin.fault("getMe", times=-1, status=502)
        assert (
            "cannot be asked (status 502); check the network"
            in (await room.asks()).lines("fail")[0]
        )
        room.writes(telegram(twin, url=f"{NOBODY}/bot"))
        assert "cannot be asked (cannot connect" in (await room.asks()).lines("fail")[0]


async def test_a_platform_that_does_not_answer_is_not_waited_for(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.doctor.platforms.SECONDS", 0.2)
    async with TelegramTwin() as twin:
        twin.fault("getMe", times=-1, hang=True)
        room.writes(telegram(twin))
        assert "no answer within 0.2 s" in (await room.asks()).lines("fail")[0]


async def test_missing_scopes_and_a_wrong_app_token_are_told_with_where_to_click(
    room: Room,
) -> None:
    async with SlackTwin() as twin:
        twin.scopes = set(SCOPES)

        def app(bot: str = BOT_TOKEN, app_token: str = APP_TOKEN) -> str:
            return (
                f"channels: {{slack: {{enabled: true, bot_token: {bot}, app_token: {app_token}, "
                f"base_url: '{twin.base_url}'}}}}\n"
            )

        room.writes(app())
        assert (await room.asks()).sum == "fine"
        twin.api.missing = {"files:read", "assistant:write"}
        found = (await room.asks()).lines("fail")
        scopes = [line.removeprefix("channels.slack: ").split()[0] for line in found]
        assert scopes == ["assistant:write", "files:read"]
        assert all("OAuth & Permissions" in line for line in found)
        twin.api.missing = set()
        room.writes(app(app_token="xapp-1-wrong"))
        assert "refuses the app token" in (await room.asks()).lines("fail")[0]
        room.writes(app(bot="xoxb-wrong"))
        [line] = (await room.asks()).lines("fail")
        assert "refuses the token (invalid_auth); copy the Bot User OAuth Token" in line
        assert "xoxb-wrong" not in line


async def test_a_discord_bot_without_its_intent_is_told_where_to_click(room: Room) -> None:
    async with DiscordTwin() as twin:
        room.writes(
            f"channels: {{discord: {{enabled: true, token: '{twin.token}', api_url: '{twin.url}/api/v10'}}}}\n"
        )
        assert (await room.asks()).sum == "fine"
        twin.world.content_intent = False
        told = await room.asks()
        assert "the message content intent is off; discord.com/developers" in told.lines("fail")[0]


MODELS = [
    (AnthropicTwin, "anthropic", "", "x-api-key"),
    (OpenAITwin, "openai", "/v1", "authorization"),
    (GeminiTwin, "gemini", "", "x-goog-api-key"),
]


@pytest.mark.parametrize(("make", "kind", "path", "header"), MODELS, ids=[m[1] for m in MODELS])
async def test_a_model_is_looked_for_without_asking_it(
    room: Room, make: Callable[[], OpenAITwin], kind: str, path: str, header: str
) -> None:
    async with make() as twin:
        twin.key, twin.models = "key-0123456789", ["good", "other"]

        def use(model: str, key: str = "key-0123456789", url: str = twin.url) -> None:
            entry = f"{{kind: {kind}, api_key: {key}, base_url: '{url}{path}'}}"
            room.writes(f"models: {{default: mine/{model}, providers: {{mine: {entry}}}}}\n")

        use("good")
        told = await room.asks()
        assert "models.default: mine/good is there (listing models costs nothing)" in told.lines(
            "ok"
        )
        assert told.sum == "fine"
        assert {call.method for call in twin.calls} <= {"GET", "HEAD"}, "nothing is generated"
        use("gone")
        [line] = (await room.asks()).lines("warn")
        assert "mine/gone: gone is not among the 2 models there; write its name as" in line
        use("good", key="key-9876543210")
        told = await room.asks()
        assert "providers.mine.api_key: mine/good: the key is refused" in told.lines("fail")[0]
        assert "key-9876543210" not in told.text
        twin.fault("models", times=-1, status=503)
        use("good")
        assert "mine/good: status 503; check the network" in (await room.asks()).lines("warn")[0]
        use("good", url=NOBODY)
        assert "no connection" in (await room.asks()).lines("warn")[0]


async def test_an_alias_that_no_list_has_is_found_by_its_page(room: Room) -> None:
    async with AnthropicTwin() as twin:
        twin.models = ["claude-good-20260101"]
        twin.fault("models/claude-good$", times=-1, status=200, body={"id": "claude-good-20260101"})
        entry = f"{{kind: anthropic, api_key: k-12345678, base_url: '{twin.url}'}}"
        room.writes(f"models: {{default: mine/claude-good, providers: {{mine: {entry}}}}}\n")
        assert "mine/claude-good is there" in (await room.asks()).text


async def test_an_endpoint_that_lists_nothing_answers_all_the_same(room: Room) -> None:
    async with OpenAITwin() as twin:
        twin.fault("models", times=-1, status=404)
        room.writes(
            f"models: {{default: mine/m, providers: {{mine: {{base_url: '{twin.url}/v1'}}}}}}\n"
        )
        told = await room.asks()
        assert "mine/m: the endpoint answers, and it lists no models (status 404)" in told.text
        assert told.sum == "fine"


@pytest.mark.parametrize(
    ("seconds", "level", "line"),
    [
        (0.0, "ok", "machine.clock: as that of 127.0.0.1"),
        (60.0, "warn", "s ahead of that of http://127.0.0.1"),
        (-600.0, "fail", "s behind that of http://127.0.0.1"),
    ],
)
async def test_a_clock_that_is_off_is_told(
    room: Room, seconds: float, level: str, line: str
) -> None:
    async with TelegramTwin() as twin:
        room.clock = Late(seconds)
        room.writes(telegram(twin))
        found = [x for x in (await room.asks()).lines(level) if "machine.clock" in x]
        assert len(found) == 1
        assert line in found[0]
        assert level == "ok" or "timedatectl" in found[0]


async def test_without_anybody_to_talk_to_nobody_is_asked(room: Room) -> None:
    room.writes("models: {default: demo}\n")
    told = await room.asks()
    assert "the demo planner, which needs no key and costs nothing" in told.text
    assert "machine.clock" not in told.text
