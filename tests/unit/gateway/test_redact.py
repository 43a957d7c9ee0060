"""Secrets never reach a log line; what only looks a little like one stays (SCR-2, SCR-4, defect 16)."""

import pytest

from gateway.redact import MASK, Redactor
from tests.pace import cpu_seconds

SECRETS = [
    "7123456789:AAE" + "x" * 32,
    "sk-ant-api03-" + "A1b2" * 10,
    "sk-" + "a" * 20,
    "xoxb-123456789012-abcdefghijkl",
    "xapp-1-A012345-678-abcdef",
    "AIza" + "B" * 35,
    "M" + "T" * 23 + ".GabcDe." + "z" * 38,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "key={} ", "(see {})", '{{"a": "{}"}}'])
def test_values_with_a_secrets_shape_are_replaced(secret: str, around: str):
    clean = Redactor().text(around.format(secret))
    assert secret not in clean
    assert MASK in clean


def test_telegrams_token_is_replaced_inside_an_address():
    address = f"GET https://api.telegram.org/bot{SECRETS[0]}/getMe"
    assert Redactor().text(address) == f"GET https://api.telegram.org/bot{MASK}/getMe"


def test_headers_and_addresses_with_credentials_are_replaced():
    redact = Redactor().text
    assert redact("Authorization: Bearer abcdef.ghi-123") == f"Authorization: Bearer {MASK}"
    assert redact("Authorization: Basic YWxpY2U6eA==") == f"Authorization: Basic {MASK}"
    assert redact("postgresql://alice:hunter2@db/x") == f"postgresql://{MASK}@db/x"


def test_known_values_are_replaced_wherever_they_stand():
    redactor = Redactor(["bench-token", "bench-token-longer"])
    assert redactor.text("a bench-token-longer, bench-token.") == f"a {MASK}, {MASK}."
    redactor.known(["another-one"])
    assert redactor.text("another-one and bench-token") == f"{MASK} and {MASK}"


def test_short_known_values_do_not_cut_holes_into_words():
    assert Redactor(["test", ""]).text("a test of attestation") == "a test of attestation"


def test_text_under_a_secret_key_goes_whole_and_counters_stay():
    event = {
        "event": "call",
        "token": "abc",
        "http": {"console_token": "x", "Authorization": "y", "port": 80},
        "slack": [{"signing_secret": "z"}, {"api_key": ""}],
        "input_tokens": 512,
        "max_tokens": "4096",
        "tokens": {"input_tokens": 1, "cache_read": 2},
        "ok": True,
        "none": None,
    }
    clean = Redactor()(None, "info", dict(event))
    assert clean == {
        "event": "call",
        "token": MASK,
        "http": {"console_token": MASK, "Authorization": MASK, "port": 80},
        "slack": [{"signing_secret": MASK}, {"api_key": ""}],
        "input_tokens": 512,
        "max_tokens": "4096",
        "tokens": {"input_tokens": 1, "cache_read": 2},
        "ok": True,
        "none": None,
    }


def test_the_callers_objects_are_left_alone():
    inner = {"token": "abc"}
    Redactor()(None, "info", {"event": "x", "inner": inner})
    assert inner == {"token": "abc"}


def test_objects_are_shown_as_clean_text():
    error = ValueError(f"refused: {SECRETS[0]}")
    assert Redactor().value(error) == f"refused: {MASK}"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (
            '{"password": "hunter2", "max_tokens": 4096}',
            f'{{"password": "{MASK}", "max_tokens": 4096}}',
        ),
        ('{\\"api_key\\": \\"abc1234\\"}', f'{{\\"api_key\\": \\"{MASK}\\"}}'),
        ("GET /x?api_key=abc123def&y=1", f"GET /x?api_key={MASK}&y=1"),
        ("/b?token=abcdef0123456789abcdef&z", f"/b?token={MASK}&z"),
        ("access_token=xyz12345", f"access_token={MASK}"),
        ('botToken: "abcdefgh"', f'botToken: "{MASK}"'),
        ("密码：hunter22", f"密码：{MASK}"),
        ("SECRET_KEY: abc12345", f"SECRET_KEY: {MASK}"),
        ("Set-Cookie: sid=abc123456; Path=/", f"Set-Cookie: {MASK}; Path=/"),
        ('{"Authorization": "Basic YWxpY2U6eA=="}', f'{{"Authorization": "{MASK}"}}'),
    ],
)
def test_what_stands_under_a_secrets_name_in_a_text_is_replaced(text: str, clean: str):
    """SCR-2, SCR-3: in JSON, settings, forms and addresses; once cleaned, it stays as it is."""
    assert Redactor().text(text) == clean
    assert Redactor().text(clean) == clean


@pytest.mark.parametrize(
    "key",
    [
        *("api_key", "apiKey", "X-Api-Key", "access_token", "bot_token", "botToken", "PASSWORD"),
        *("client_secret", "Set-Cookie", "cookies", "authorization", "private_key", "passwords"),
    ],
)
def test_secret_keys_are_known_however_they_are_written(key: str):
    """SCR-2: recursive, whatever the case, also for each text of a list."""
    assert Redactor().value({"a": [{key: "x"}]}) == {"a": [{key: MASK}]}
    assert Redactor().value({key: ["x", 1]}) == {key: [MASK, 1]}


@pytest.mark.parametrize(
    "key", ["input_tokens", "output_tokens", "context_budget_tokens", "tokens", "key", "keyboard"]
)
def test_counters_and_other_keys_stay(key: str):
    """SCR-3."""
    assert Redactor().value({key: "12"}) == {key: "12"}


@pytest.mark.parametrize(
    "text",
    [
        '{"token": "BTC"}',
        '{"token": "0xdac17f958d2ee523a2206206994597c13d831ec7"}',
        "password: required",
        "the token count: 123456",
        "tokens=1234567",
        "input_token: 123456789",
        "my password is a secret: never tell",
        "task-0123456789abcdef0123456789",
        "risk-adjusted-return-on-capital",
        "12:30:45",
        "sha256:0123456789",
        "http://127.0.0.1:8080/chat",
        "2026-01-02T03:04:05.123456+00:00",
        "conversation telegram:777:123456789",
        "Basic research",
        "the bearer of news",
    ],
)
def test_ordinary_texts_stay(text: str):
    assert Redactor(["some-known-value"]).text(text) == text


def test_a_log_line_costs_little():
    redactor = Redactor([f"known-value-{n}" for n in range(10)])
    event = {
        "event": "turn ended",
        "conversation": "telegram:777:1",
        "seconds": 1.5,
        "url": "http://h/",
    }

    def log() -> None:
        for _ in range(500):
            redactor(None, "info", dict(event))

    assert cpu_seconds(log) / 500 < 100e-6
