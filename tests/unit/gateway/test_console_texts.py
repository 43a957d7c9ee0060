"""Every phrase of the console is there in Chinese, with the same places for values."""

import re
from pathlib import Path

from gateway.console import texts
from gateway.console.menu import MENU
from gateway.console.plan import VIEWS

ROOM = Path(texts.__file__).parent
_IN_TEMPLATE = re.compile(r"""\bt\(\s*(?:"([^"]*)"|'([^']*)')""")
_IN_CODE = re.compile(
    r"""(?:call\.say\(|Refused\(\s*\d+,\s*"\w+",|said =)\s*"((?:[^"\\]|\\.)*)\""""
)
_WORDS_OF_STATES = re.compile(r"""status in \(([^)]*)\)""")


def phrases() -> set[str]:
    found = {view.title for view in VIEWS} | {entry.title for entry in MENU}
    for page in (ROOM / "templates").glob("*.html"):
        source = page.read_text("utf-8")
        found |= {one or other for one, other in _IN_TEMPLATE.findall(source)}
        found |= {
            text
            for part in re.findall(r"\bt\(\{(.*?)\}\[", source, re.DOTALL)
            for text in re.findall(r': "([^"]*)"', part)
        }
    for module in ROOM.glob("*.py"):
        found |= set(_IN_CODE.findall(module.read_text("utf-8")))
    return {
        text for text in found if re.search(r"[A-Za-z]", text.replace("{", "").replace("}", ""))
    }


def test_no_phrase_is_left_in_english() -> None:
    wanted = phrases()
    assert len(wanted) > 200
    assert sorted(text for text in wanted if texts.phrase(text, "zh") == text) == []


def test_a_translation_takes_the_same_values() -> None:
    for text in phrases():
        places = set(re.findall(r"\{(\w+)\}", text))
        assert set(re.findall(r"\{(\w+)\}", texts.phrase(text, "zh"))) == places, text


def test_no_translation_is_of_a_phrase_that_nobody_says() -> None:
    sources = "".join(
        path.read_text("utf-8")
        for path in [*ROOM.glob("templates/*.html"), *ROOM.glob("*.py")]
        if not path.stem.startswith("texts_")
    )
    states = {text for text in texts.known() if text.isidentifier() or " " not in text}
    unused = [
        text
        for text in texts.known() - states
        if text not in sources
        and "".join(text.split()) not in "".join(sources.replace('"', "").split())
    ]
    assert unused == []
