"""One message in the terminal where no gateway runs: the engine ends with the answer, so all must be in it."""

import json
from pathlib import Path

import pytest

from tests.scenario.process import command, environment

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        ("Backtest a 50/200 sma cross on GOOG from 2005 to 2012", "**Backtest sma_cross(50,200)"),
        ("回测谷歌 2005 到 2012 年的 50/200 均线策略", "**回测 sma_cross(50,200)"),
    ],
)
async def test_a_backtest_is_in_the_answer_and_nothing_is_left_to_come(
    tmp_path: Path, words: str, starts: str
) -> None:
    (tmp_path / "swarmgate.yaml").write_text("version: 1\nmodels: {default: demo}\n")
    done = await command(
        "chat", "-c", "swarmgate.yaml", "--json", words, env=environment(), folder=tmp_path
    )
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out.splitlines()[-1])
    assert answer["text"].startswith(starts)
    assert "46.0 %" in answer["text"]
    assert [Path(name).suffix for name in answer["files"]] == [".png", ".csv"]
