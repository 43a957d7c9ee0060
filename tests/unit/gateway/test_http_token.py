"""The operators' token: set or made, kept for its owner alone, compared as a whole."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from gateway.http.token import FILE, ConsoleToken, bearer, console_token, unauthorized
from gateway.settings.settings import Settings

TOKEN = "Zm9vYmFy-token_1234567890"


def settings(folder: Path, token: str = "") -> Settings:
    return Settings.model_validate({"data_dir": folder, "http": {"console_token": token}})


def asking(*values: str) -> object:
    headers = CIMultiDict([("Authorization", value) for value in values])
    return make_mocked_request("GET", "/metrics", headers=headers)


def test_a_token_of_the_settings_wins_and_leaves_no_file(tmp_path: Path) -> None:
    assert console_token(settings(tmp_path, TOKEN)).value == TOKEN
    assert list(tmp_path.iterdir()) == []


def test_without_one_a_long_token_is_made_and_kept_for_its_owner_alone(tmp_path: Path) -> None:
    made = console_token(settings(tmp_path)).value
    assert len(made) >= 40
    assert console_token(settings(tmp_path)).value == made
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_each_installation_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert console_token(settings(tmp_path / "a")).value != (
        console_token(settings(tmp_path / "b")).value
    )


@pytest.mark.parametrize("cut_off", ["", "short\n", "\xff\xfe" * 20])
def test_a_cut_off_file_is_made_anew(tmp_path: Path, cut_off: str) -> None:
    (tmp_path / FILE).write_bytes(cut_off.encode("latin-1"))
    assert len(console_token(settings(tmp_path)).value) >= 40


def test_a_file_that_others_may_read_is_closed(tmp_path: Path) -> None:
    made = console_token(settings(tmp_path)).value
    (tmp_path / FILE).chmod(0o644)
    assert console_token(settings(tmp_path)).value == made
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_processes_that_start_at_once_agree_on_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: console_token(settings(tmp_path)).value, range(32)))
    assert len(set(made)) == 1


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ((f"Bearer {TOKEN}",), True),
        ((f"bearer  {TOKEN} ",), True),
        ((), False),
        ((TOKEN,), False),
        ((f"Basic {TOKEN}",), False),
        (("Bearer ",), False),
        ((f"Bearer {TOKEN}x",), False),
        ((f"Bearer {TOKEN[:-1]}",), False),
        ((f"Bearer {TOKEN} {TOKEN}",), False),
        ((f"Bearer {TOKEN}", f"Bearer {TOKEN}"), False),
        (("Bearer wrong\u00e9",), False),
    ],
)
def test_only_one_whole_bearer_token_opens(headers: tuple[str, ...], allowed: bool) -> None:
    assert ConsoleToken(TOKEN).allows(asking(*headers)) is allowed  # type: ignore[arg-type]


def test_a_token_in_the_address_does_not_count() -> None:
    request = make_mocked_request("GET", f"/metrics?token={TOKEN}&access_token={TOKEN}")
    assert bearer(request) is None
    assert not ConsoleToken(TOKEN).allows(request)


def test_an_empty_token_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="everybody"):
        ConsoleToken("")


def test_the_refusal_and_the_object_do_not_show_it() -> None:
    assert TOKEN not in repr(ConsoleToken(TOKEN))
    assert unauthorized().status == 401
    assert unauthorized().headers["WWW-Authenticate"].startswith("Bearer")
