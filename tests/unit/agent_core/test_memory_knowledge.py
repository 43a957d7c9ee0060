"""Background texts on demand: `load_context` (PDC-2)."""

import datetime as dt
import os
from pathlib import Path

import pytest

from agent_core.book import LEVELS
from agent_core.tools.knowledge import (
    MAX_BYTES,
    PAGE_CHARS,
    SHIPPED,
    Knowledge,
    knowledge_tools,
    matching,
)
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput
from tests.unit.agent_core.books import NOW


class Noon:
    def now(self) -> dt.datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def write(folder: Path, name: str, body: str = "Own words.", **front: object) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f"{key}: {value}" for key, value in ({"topics": "[own topic]"} | front).items()]
    path = folder / name
    path.write_text("\n".join(["---", *lines, "---", body]), "utf-8")
    return path


async def load(
    query: str, own: Path | None = None, language: str = "en", **more: int
) -> ToolOutput:
    (spec,) = knowledge_tools(own)
    context = ToolContext("alice", "s1", 1, "c1", language, Noon())  # type: ignore[arg-type]
    return await spec.run(context, topic_or_symbol=query, **more)


@pytest.mark.parametrize(
    ("query", "language", "name"),
    [
        ("T+1", "en", "a-share-rules.en"),
        ("T+1", "zh", "a-share-rules.zh"),
        ("涨跌停", "zh", "a-share-rules.zh"),
        ("price limits", "en", "a-share-rules.en"),
        ("仓位管理", "zh", "position-sizing.zh"),
        ("position sizing", "zh", "position-sizing.zh"),
        ("risk per trade", "zh", "position-sizing.en"),
        ("请问T+1是什么意思", "zh", "a-share-rules.zh"),
        ("A股的涨跌停和印花税", "zh", "a-share-rules.zh"),
        ("Position Sizing", "en", "position-sizing.en"),
        ("最大回撤", "zh", "drawdowns.zh"),
        ("how to read a drawdown", "en", "drawdowns.en"),
        ("熔断", "zh", "markets-compared.zh"),
        ("过拟合", "zh", "backtest-pitfalls.zh"),
    ],
)
async def test_a_topic_is_found_in_the_persons_language(
    query: str, language: str, name: str
) -> None:
    found = await load(query, language=language)
    assert f"knowledge: {name} " in found.content.splitlines()[0]


async def test_a_text_says_where_it_is_from_how_credible_and_how_old_it_is() -> None:
    """CRD-2."""
    found = await load("T+1")
    first = found.content.splitlines()[0]
    assert (
        first
        == "[Trading rules of A shares · knowledge: a-share-rules.en · objective fact · as of 2026-01-01]"
    )
    assert found.meta == {"credibility": "objective fact"}
    more = await load("trading rules")
    assert more.content.splitlines()[-1].startswith("See also: ")


async def test_what_is_unknown_is_answered_with_what_there_is() -> None:
    with pytest.raises(ToolFailure, match=r"nothing about 'astrology'\. There is: .*T\+1"):
        await load("astrology")


async def test_the_operators_own_texts_stand_beside_the_shipped_ones_and_win_by_name(
    tmp_path: Path,
) -> None:
    write(tmp_path, "moutai.md", "Our view.", symbols="['600519']", credibility="emotional view")
    write(tmp_path, "drawdowns.en.md", "House rules.", topics="[drawdown]", language="en")
    for query in ("600519", "贵州茅台", "sh600519", "own topic", "moutai"):
        found = await load(query, tmp_path)
        assert found.content.splitlines()[1] == "Our view."
        assert "· emotional view]" in found.content
    assert "House rules." in (await load("drawdown", tmp_path)).content
    assert "T+1" in (await load("T+1", tmp_path)).content


async def test_an_edit_counts_at_once_and_a_missing_folder_is_none(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", "before")
    knowledge = Knowledge([tmp_path, tmp_path / "missing"])
    assert [t.body for t in knowledge.texts()] == ["before"]
    write(tmp_path, "a.md", "after!")
    os.utime(path, (1, 1))
    assert [t.body for t in knowledge.texts()] == ["after!"]
    path.unlink()
    assert knowledge.texts() == []


@pytest.mark.parametrize("query", ["../secret", "/etc/passwd", "secret", "..", "%2e%2e", "a\x00b"])
async def test_no_query_leads_out_of_the_folders(query: str, tmp_path: Path) -> None:
    own = tmp_path / "knowledge"
    write(own, "fine.md")
    outside = write(tmp_path, "secret.md", "the secret", topics="[secret]")
    (own / "linked.md").symlink_to(outside)
    (own / "folder.md").mkdir()
    with pytest.raises(ToolFailure):
        await load(query, own)
    assert [t.name for t in Knowledge([own]).texts()] == ["fine"]


async def test_files_that_are_no_texts_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "fine.md")
    (tmp_path / "plain.md").write_text("no front matter")
    (tmp_path / "open.md").write_text("---\ntopics: [a]\nnever closed")
    (tmp_path / "bad.md").write_text("---\ntopics: [a\n---\nx")
    (tmp_path / "list.md").write_text("---\n- a\n---\nx")
    write(tmp_path, "aimless.md", topics="[]")
    write(tmp_path, "large.md", "x" * MAX_BYTES)
    (tmp_path / "binary.md").write_bytes(b"---\ntopics: [b]\n---\n\xff\xfe")
    (tmp_path / "notes.txt").write_text("---\ntopics: [a]\n---\nx")
    knowledge = Knowledge([tmp_path])
    assert [t.name for t in knowledge.texts()] == ["binary", "fine"]
    warned = len(caplog.records)
    knowledge.texts()
    assert len(caplog.records) == warned == 6  # each is told of once


async def test_a_long_text_comes_in_pages(tmp_path: Path) -> None:
    body = "".join(chr(0x4E00 + n % 3_000) for n in range(PAGE_CHARS + 500))
    write(tmp_path, "long.md", body)
    first, second = (
        (await load("own topic", tmp_path)).content,
        await load("own topic", tmp_path, offset=PAGE_CHARS),
    )
    assert len(first) < 8_000
    assert f"500 left, go on with offset={PAGE_CHARS}" in first
    assert first.splitlines()[1] + second.content.splitlines()[1] == body
    with pytest.raises(ToolFailure, match="ask for an offset below"):
        await load("own topic", tmp_path, offset=99_999)


def test_an_unknown_level_is_no_fact(tmp_path: Path) -> None:
    """CRD-2."""
    write(tmp_path, "a.md", credibility="absolute truth")
    write(tmp_path, "b.md")
    assert {t.credibility for t in Knowledge([tmp_path]).texts()} == {"mixed"}


def test_the_shipped_texts_are_short_whole_and_in_both_languages() -> None:
    texts = Knowledge([SHIPPED]).texts()
    names = {t.name for t in texts}
    assert len(texts) >= 10
    for text in texts:
        stem, _, language = text.name.rpartition(".")
        assert text.language == language
        assert {f"{stem}.en", f"{stem}.zh"} <= names
        assert text.credibility in LEVELS
        assert text.as_of
        assert 200 < len(text.body) < PAGE_CHARS
        assert matching(texts, text.topics[0], language)[0] == text
