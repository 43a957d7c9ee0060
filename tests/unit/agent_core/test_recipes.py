"""Skills and templates as files: what is read, what is refused and how it is said (SKL-3, SKL-4)."""

from pathlib import Path

import pytest

from agent_core.instructions import Skill
from agent_core.runtime import skills, templates
from agent_core.runtime.recipes import MOST_BYTES, MOST_CHARS, Fault
from gateway.toolbox import toolbox

EARNINGS = """---
name: earnings
description: {en: Before the numbers, zh: 财报前}
title: Earnings
argument: a symbol
tools: [fundamentals]
---
Look at {user_input} before its numbers.
"""


def read(folder: Path, **files: str) -> tuple[dict[str, Skill], list[Fault]]:
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    faults: list[Fault] = []
    return skills.read(folder, faults, "operator"), faults


def test_a_skill_is_read_with_its_head(tmp_path: Path) -> None:
    """SKL-3."""
    found, faults = read(tmp_path, earnings=EARNINGS)
    one = found["earnings"]
    assert faults == []
    assert one.description("zh") == "财报前"
    assert one.description("en") == "Before the numbers"
    assert (one.titles, one.arguments) == ({"en": "Earnings"}, {"en": "a symbol"})
    assert one.tools == ("fundamentals",)
    assert one.body("en", "AAPL") == "Look at AAPL before its numbers."


def test_without_a_head_the_files_name_is_the_name(tmp_path: Path) -> None:
    """SKL-3 [X]."""
    found, faults = read(tmp_path, plain="Do it.\n", odd="--- no head\nDo that.")
    assert faults == []
    assert {name: one.body("en") for name, one in found.items()} == {
        "odd": "--- no head\nDo that.",
        "plain": "Do it.",
    }


def test_two_files_are_one_skill_in_two_languages(tmp_path: Path) -> None:
    (tmp_path / "a.zh.md").write_text("---\ndescription: 看\n---\n做{user_input}", "utf-8")
    found, _ = read(tmp_path, a="---\ndescription: Look\n---\nDo {user_input}")
    assert list(found) == ["a"]
    assert [found["a"].body(language, "x") for language in ("en", "zh", "de")] == [
        "Do x",
        "做x",
        "Do x",
    ]
    assert found["a"].description("zh") == "看"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("---\na: [\n---\nDo.", "no YAML", 2),
        ("---\na:\n\tb: 1\n---\nDo.", "no YAML", 3),
        ("---\n- a\n---\nDo.", "no map", 2),
        ("---\nname: Big Name\n---\nDo.", "`Big Name` is no name", 0),
        ("---\nname: [a]\n---\nDo.", "is no name", 0),
        ("---\nname: bad\n---\n", "has no text", 0),
        ("---\ndescripton: x\n---\nDo.", "unknown key `descripton`", 0),
        ("---\ndescription: [x]\n---\nDo.", "`description` is no text", 0),
        ("---\ntools: {a: b}\n---\nDo.", "`tools` is no list", 0),
        ("x" * (MOST_CHARS + 1), "6001 characters", 0),
        ("x" * (MOST_BYTES + 1), "32 KB", 0),
    ],
)
def test_a_bad_file_is_reported_and_the_others_are_read(
    tmp_path: Path, text: str, message: str, line: int
) -> None:
    """SKL-3 [X], SKL-4."""
    found, faults = read(tmp_path, bad=text, good="Do it.")
    assert list(found) == ["good"]
    (fault,) = faults
    assert fault.file == str(tmp_path / "bad.md")
    assert message in fault.message
    assert fault.line == line
    assert fault.cure


def test_files_that_are_no_text_are_reported(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    found, faults = read(tmp_path, good="Do it.")
    assert list(found) == ["good"]
    assert [Path(f.file).name for f in faults] == ["gone.md", "latin.md"]


def test_a_second_file_of_one_name_is_reported(tmp_path: Path) -> None:
    found, faults = read(tmp_path, a="One.", b="---\nname: a\n---\nTwo.")
    assert found["a"].body("en") == "One."
    assert "a second skill `a`" in faults[0].message


@pytest.mark.parametrize(
    "words",
    ["{0}", "%s", "{user_input.__class__}", "{{user_input}}", "{user_input!r}", "\\1", "$HOME"],
)
def test_words_are_put_in_to_the_letter(words: str) -> None:
    """SKL-4: no format strings, neither in the words nor in the text."""
    one = Skill("a", {"en": "{0} %s {user_input.x} [{user_input}] {other}"})
    assert one.body("en", words) == f"{{0}} %s {{user_input.x}} [{words}] {{other}}"


def test_words_without_a_place_come_last() -> None:
    assert Skill("a", {"en": "Do it."}).body("en", "AAPL") == "Do it.\n\nAAPL"
    assert Skill("a", {"en": "Do it."}).body("en") == "Do it."


def test_shipped_skills_stand_in_both_languages_and_name_tools_that_exist() -> None:
    """SKL-1: screen, checkup, report, strategy, backtest."""
    found = skills.built_in()
    assert list(found) == ["backtest", "checkup", "report", "screen", "strategy"]
    names = toolbox().names
    for one in found.values():
        assert one.bodies.keys() == one.descriptions.keys() == one.titles.keys() == {"en", "zh"}
        assert all("{user_input}" in body for body in one.bodies.values())
        assert one.tools
        assert set(one.tools) <= names
        spoken_of = {
            word.strip("`") for body in one.bodies.values() for word in body.split("`")[1::2]
        }
        assert spoken_of <= names


def test_what_the_page_about_skills_shows_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "deploy" / "skills.md").read_text("utf-8")
    skill, template = (block.partition("```")[0] for block in page.split("```markdown\n")[1:])
    found, faults = read(tmp_path, example=skill)
    assert (list(found), faults) == (["earnings"], [])
    made, faults = templates_of(tmp_path / "templates", template)
    assert faults == []
    assert [f.kind for f in made["brief"].fields] == ["symbol", "choice", "date", "number"]


# Templates ----------------------------------------------------------------------------------------

BRIEF = """---
description: {en: A brief, zh: 简报}
fields:
  symbol: {type: symbol, description: {en: Which stock, zh: 哪只股票}}
  horizon: {type: choice, choices: [1m, 3m], default: 3m}
  since: {type: date, required: false}
  risk: {type: number, min: 0.1, max: 5, default: 1}
---
Brief on {symbol} over {horizon}, {risk} % since {since}. {user_input} {other}
"""


def templates_of(folder: Path, text: str) -> tuple[dict[str, templates.Template], list[Fault]]:
    folder.mkdir(exist_ok=True)
    (folder / "brief.md").write_text(text, "utf-8")
    faults: list[Fault] = []
    return templates.read(folder, faults), faults


def test_a_template_has_typed_fields(tmp_path: Path) -> None:
    found, faults = templates_of(tmp_path, BRIEF)
    assert faults == []
    fields = found["brief"].fields
    assert [(f.name, f.kind, f.required, f.default) for f in fields] == [
        ("symbol", "symbol", True, None),
        ("horizon", "choice", False, "3m"),
        ("since", "date", False, None),
        ("risk", "number", False, 1.0),
    ]
    assert (fields[3].low, fields[3].high) == (0.1, 5.0)
    kept = found["brief"].called("AAPL", "zh")["template"]
    assert kept["fields"][0]["description"] == "哪只股票"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("[a]", "`fields` is no map"),
        ("{A: text}", "`A` is no name of a field"),
        ("{a: {type: colour}}", "no type `colour`"),
        ("{a: [text]}", "says nothing"),
        ("{a: {type: text, chioces: [x]}}", "unknown key `chioces`"),
        ("{a: {type: choice}}", "go together"),
        ("{a: {type: text, choices: [x]}}", "go together"),
        ("{a: {type: number, min: low}}", "`min` is no number"),
        ("{a: {type: text, min: 1}}", "of numbers"),
        ("{a: {type: date, default: tomorrow}}", "default does not fit"),
        ("{a: {type: choice, choices: [x, y], default: z}}", "default does not fit"),
        ("{a: {required: perhaps}}", "true or false"),
        ("{" + ", ".join(f"f{n}: text" for n in range(11)) + "}", "10 are allowed"),
    ],
)
def test_a_bad_field_is_reported(tmp_path: Path, fields: str, message: str) -> None:
    found, faults = templates_of(tmp_path, f"---\nfields: {fields}\n---\nDo {{a}}.")
    assert found == {}
    assert message in faults[0].message
    assert faults[0].cure


BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (f"{BOMB}\nname: *a9", "its head has anchors"),
        ("name: &a [*a]", "its head has anchors"),
        ("name: " + "[" * 5_000, "its head is deeper than 8 levels"),
    ],
)
def test_a_head_that_is_larger_than_it_looks_is_a_fault_and_the_others_are_read(
    tmp_path: Path, head: str, message: str
) -> None:
    """SKL-3: persons write skills of their own; a few lines of aliases are gigabytes of names."""
    (tmp_path / "bad.md").write_text(f"---\n{head}\n---\nDo it.\n", encoding="utf-8")
    (tmp_path / "good.md").write_text("Do it.\n", encoding="utf-8")
    faults: list[Fault] = []
    found = skills.read(tmp_path, faults, "own")
    assert list(found) == ["good"]
    assert message in faults[0].message
