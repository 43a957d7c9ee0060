"""What becomes of a tool's answer: the boundary of offloading, and answers that are no good text (EVT-6)."""

import json
import time

import pytest

from agent_core.past import Restored
from agent_core.runtime.offload import pack
from agent_core.storage.blobs import RESULT_TYPE
from agent_core.storage.statements import blob_id
from agent_core.tools.archive import PAGE_CHARS, page
from agent_core.tools.spec import Artifact, ToolOutput
from agent_core.types import Message, ToolUse, decode, encode

CALL = ToolUse("c1", "look_up", {})
ALICE = "telegram:1"


def packed(content: str, **meta: object):
    return pack(ALICE, CALL, ToolOutput(content, meta=dict(meta)), "objective fact")


def test_eight_thousand_characters_stay_in_the_row() -> None:
    """EVT-6."""
    done = packed("字" * 8_000)
    assert done.result.content == "字" * 8_000
    assert done.blobs == ()
    assert "blob" not in done.meta


def test_one_character_more_goes_to_a_blob_and_leaves_a_preview() -> None:
    """EVT-6: the preview has 2,000 characters, says how much is missing and where it is."""
    done = packed("字" * 8_001)
    (blob,) = done.blobs
    assert blob.data.decode() == "字" * 8_001
    assert blob.id == blob_id(ALICE, blob.data)
    assert blob.media_type.startswith(RESULT_TYPE)
    assert done.meta["blob"] == blob.id
    assert done.meta["chars"] == 8_001
    text, _, mark = done.result.content.rpartition("\n")
    assert text == "字" * 2_000
    assert mark == f"[6001 more characters are stored: ref=b{blob.id[:16]}]"


def test_files_and_the_level_of_belief_are_kept_beside_the_result() -> None:
    """CRD-2: the level is the tool's own, or what it says of this answer."""
    output = ToolOutput("made", "one line", (Artifact("a.png", "image/png", b"x", "a"),))
    done = pack(ALICE, CALL, output, "logic tool")
    assert [a.name for a in done.result.artifacts] == ["a.png"]
    assert done.meta == {"credibility": "logic tool", "summary": "one line"}
    assert packed("x", credibility="emotional view").meta["credibility"] == "emotional view"


def test_json_holds_null_for_what_is_no_number() -> None:
    """EVT-6: NaN and Infinity are null; words inside strings stay."""
    done = packed('{"a": NaN, "b": [Infinity, -Infinity], "c": "NaN \\" Infinity", "Infinity": 1}')
    assert json.loads(done.result.content) == {
        "a": None,
        "b": [None, None],
        "c": 'NaN " Infinity',
        "Infinity": 1,
    }
    assert packed("the mean is NaN").result.content == "the mean is NaN"


@pytest.mark.parametrize("broken", ["\ud83d", "a\udc00b", "x\x00y", "\udfff\ud800"])
def test_broken_text_can_be_stored(broken: str) -> None:
    content = packed(broken).result.content
    assert content.encode()
    assert "\x00" not in content
    assert "\ufffd" in content
    assert decode(encode(Message("user", (packed(broken).result,))))


def test_binary_data_is_named_and_not_shown() -> None:
    done = packed("".join(chr(n % 32) for n in range(600)))
    assert done.result.content.startswith("[600 characters that are no text are stored: ref=b")
    assert len(done.blobs) == 1


@pytest.mark.parametrize("piece", ["0123456789", "[NaN, ", '{"k": "\\\\', "\ud800 lone "])
def test_ten_megabytes_are_no_trouble(piece: str) -> None:
    content = piece * (10_000_000 // len(piece))
    began = time.process_time()
    done = packed(content)
    assert time.process_time() - began < 5.0
    assert len(done.result.content) < 2_100
    assert len(done.blobs[0].data) >= 9_900_000


def test_pages_give_back_every_character_and_fit_into_a_row() -> None:
    """ARC-4, EVT-6."""
    text = "".join(chr(0x4E00 + n % 5_000) for n in range(20_480))
    whole = Restored("archive://s1/b0123456789abcdef", text, "look_up", "mixed")
    back, offset = "", 0
    while offset < len(text):
        shown = page(whole, offset)
        assert len(shown) <= 8_000
        head, _, body = shown.partition("\n")
        assert f"characters {offset}-{offset + len(body)} of 20480" in head
        back += body
        offset += PAGE_CHARS
    assert back == text
    assert "left" not in head
    assert "look_up · mixed" in head
