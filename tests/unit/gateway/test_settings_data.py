"""`data` in the settings: which sources there are, what each needs, and how a slip is told."""

import datetime as dt
from pathlib import Path

import pytest

from gateway.problems import SettingsError
from gateway.settings.settings import Settings, load


def loaded(folder: Path, data: str) -> Settings:
    path = folder / "swarmgate.yaml"
    path.write_text(f"version: 1\ndata: {data}\n", encoding="utf-8")
    return load(path, {"STOOQ_KEY": "s3cret"})


def test_the_sources_that_ask_nobody_are_the_default(tmp_path: Path) -> None:
    data = loaded(tmp_path, "{}").data
    assert (data.sources, data.cache, data.max_age) == (("bundled", "ecb"), True, None)


def test_each_source_has_its_options(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        "{sources: [folder, stooq, edgar, ccxt], max_age: 12h, per_minute: {stooq: 5},"
        " folder: {path: prices, currency: EUR, columns: {close: Last}},"
        ' stooq: {api_key: "${STOOQ_KEY}", base_url: "http://127.0.0.1:1/"},'
        " edgar: {contact: alice@example.org}, ccxt: {exchange: kraken}}",
    )
    data = settings.data
    assert (data.max_age, data.per_minute) == (dt.timedelta(hours=12), {"stooq": 5})
    assert data.options_of("folder") == {
        "path": tmp_path / "prices",
        "currency": "EUR",
        "columns": {"close": "Last"},
        "adjusted": False,
    }
    assert data.options_of("stooq") == {"base_url": "http://127.0.0.1:1", "api_key": "s3cret"}
    assert data.options_of("edgar") == {"contact": "alice@example.org"}
    assert data.options_of("ccxt") == {"exchange": "kraken", "quote": "USD"}
    assert data.options_of("bundled") == {}
    assert settings.secrets() == {"s3cret"}
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{sources: [bundled, yfinanc]}", "2:27: data.sources[1]: there is no data source 'yfinanc'; did you mean"),
        ("{sources: [bundled, qqqq]}", "there are akshare, baostock, bundled, ccxt, ecb, edgar, folder, stooq"),
        ("{sources: [stooq, stooq]}", "data.sources[1]: stooq is there twice; remove one"),
        ("{sources: []}", "data.sources"),
        ("{sources: [folder]}", "data.folder.path: the source folder needs a path"),
        ("{sources: [edgar]}", "data.edgar.contact: the source edgar needs a contact"),
        ("{edgar: {contact: nobody}}", "data.edgar.contact: is no address of somebody"),
        ("{folder: {currency: euro}}", "data.folder.currency: 'euro' is no currency; write its code, such as USD"),
        ("{folder: {columns: {price: P}}}", "data.folder.columns"),
        ("{max_age: soon}", "data.max_age: is no span of time"),
        ("{per_minute: {stooq: 5}}", "data.per_minute.stooq: stooq is not among data.sources"),
        ("{options: {elsewhere: {}}}", "data.options.elsewhere: elsewhere is not among data.sources"),
        ("{per_minute: {bundled: 5}}", "data.per_minute.bundled: bundled asks no server; remove it"),
        ("{sources: [stooq], options: {stooq: {}}}", "write them under data.stooq"),
        ("{sauces: [stooq]}", "did you mean `sources`?"),
        ("{stooq: {base_url: stooq.com}}", "data.stooq.base_url: is not an address"),
    ],
)  # fmt: skip
def test_a_slip_is_told_with_its_place_and_cure(tmp_path: Path, data: str, said: str) -> None:
    with pytest.raises(SettingsError) as error:
        loaded(tmp_path, data)
    assert said in "\n".join(map(str, error.value.problems))
