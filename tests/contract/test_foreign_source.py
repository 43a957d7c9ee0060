"""A data source of another package: a module with a name in its metadata, and every tool sees its prices."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_core.finance.sources import kinds
from agent_core.finance.sources.kinds import BrokenSource
from agent_core.tools.spec import ToolContext
from gateway.presets.team_house import load_presets
from gateway.prices.source_check import source_problems
from gateway.prices.source_house import source_house
from gateway.problems import SettingsError
from gateway.settings.settings import Settings, load
from gateway.toolbox import Equipment, toolbox
from tests.vendors import Watch

CODE = '''
"""Prices of one made share."""

import datetime as dt
from array import array

from agent_core.finance.bars import Bars
from agent_core.finance.sources.kinds import SourceKind
from agent_core.finance.sources.source import NoData


class Almanac:
    name = "almanac"

    def __init__(self, clock, *, price, api_key=""):
        assert api_key in ("", "s3cret")
        self.clock, self.price = clock, price

    async def bars(self, symbol, start, end):
        if symbol != "ALMA":
            raise NoData(f"no prices of {symbol}", self.name, "it has ALMA")
        day = self.clock.now().date()
        column = array("d", [self.price])
        return Bars(symbol, "USD", self.name, (day,), column, column, column, column, column)


KIND = SourceKind("almanac", "almanac_source:Almanac", about="one share")
BROKEN = SourceKind("broken", "almanac_source:Nothing")
'''
POINTS = (
    "almanac = almanac_source:KIND\nbroken = almanac_source:BROKEN\nodd = almanac_source:Almanac\n"
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installed package, on the import path."""
    folder = tmp_path / "site"
    info = folder / "almanac_source-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "almanac_source.py").write_text(CODE, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: almanac-source\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[swarmgate.sources]\n{POINTS}")
    (info / "RECORD").write_text("almanac_source.py,,\n")
    monkeypatch.syspath_prepend(folder)
    return folder


def settings(folder: Path, data: str) -> Settings:
    path = folder / "swarmgate.yaml"
    path.write_text(f"version: 1\ndata: {data}\npresets_dir: presets\n")
    return load(path, {})


GOOD = "{sources: [bundled, almanac], options: {almanac: {price: 12.5, api_key: s3cret}}}"


@pytest.mark.usefixtures("package")
async def test_its_prices_reach_the_tools(tmp_path: Path) -> None:
    config = settings(tmp_path, GOOD)
    assert "almanac" in kinds.names()
    assert config.secrets() == {"s3cret"}
    assert "s3cret" not in repr(config)
    clock = Watch()
    house = source_house(config, clock, None)
    spec = toolbox(Equipment(sources=house.prices)).get("get_market_history")
    assert spec is not None
    ctx = ToolContext("alice", "s", 1, "c", "en", clock)
    found: dict[str, Any] = json.loads((await spec.call(ctx, {"symbol": "ALMA"})).content)
    assert (found["source"], found["last_close"], found["as_of"]) == ("almanac", 12.5, "2024-03-08")


@pytest.mark.usefixtures("package")
def test_a_preset_may_name_it(tmp_path: Path) -> None:
    (tmp_path / "presets").mkdir()
    text = "version: 1\nname: mine\nsupervisor: {tools: [chart]}\ndata: {sources: [almanak]}\n"
    (tmp_path / "presets" / "mine.yaml").write_text(text)
    config = settings(tmp_path, GOOD)
    (slip,) = load_presets(config, toolbox()).found["mine"]
    assert (slip.code, slip.cure) == ("SW208", "did you mean `almanac`?")
    (tmp_path / "presets" / "mine.yaml").write_text(text.replace("almanak", "almanac"))
    loaded = load_presets(config, toolbox())
    assert loaded.found["mine"] == []
    assert loaded.teams["mine"].data.sources == ("almanac",)


@pytest.mark.usefixtures("package")
async def test_a_broken_one_is_told_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = settings(tmp_path, "{sources: [bundled, broken, odd, almanac]}")
    assert source_house(config, Watch(), None).prices.names == ("bundled",)
    assert [record.message for record in caplog.records] == ["source_not_made"] * 3
    told = "\n".join(str(p) for _, p in await source_problems(config, Watch(), ask=False))
    assert "broken: data source broken: cannot load almanac_source:Nothing" in told
    assert "odd: data source odd: almanac_source:Almanac is no SourceKind" in told
    assert "almanac: data source almanac: cannot be made" in told
    with pytest.raises(BrokenSource):
        kinds.kind("broken").offers("bars")
    with pytest.raises(SettingsError, match="did you mean almanac"):
        settings(tmp_path, "{sources: [almanack]}")
