import json

from channels.types import Button, Preview, Step
from channels.web.hub import Event, Hub
from channels.web.wire import PreviewWriter, dumps


def event(n: int) -> Event:
    return Event("message", {"n": n})


async def test_a_mailbox_keeps_messages_in_order_and_only_the_newest_preview() -> None:
    hub = Hub()
    mailbox = hub.join("s")
    live = hub.open("s", object())
    for n in range(3):
        hub.publish("s", event(n))
        live.preview = Preview(text="a" * n)
        hub.show("s", live)
    events = await mailbox.take(1)
    assert [e.data.get("n") for e in events] == [0, 1, 2, None]
    assert events[-1].data["text"] == "aa"


async def test_a_client_that_does_not_read_is_told_to_load_anew_and_takes_no_memory() -> None:
    hub = Hub(limit=4)
    mailbox = hub.join("s")
    for n in range(7):
        hub.publish("s", event(n))
    assert [e.name for e in await mailbox.take(1)] == ["reload", "message", "message"]


async def test_silence_is_an_empty_answer() -> None:
    assert await Hub().join("s").take(0.01) == []


async def test_who_comes_later_sees_the_reply_in_the_making() -> None:
    hub = Hub()
    live = hub.open("s", object())
    assert hub.join("s").live_id is None, "nothing shown yet"
    live.preview = Preview(text="half")
    hub.show("s", live)
    late = hub.join("s")
    assert late.live_id == live.id
    assert (await late.take(1))[0].data["text"] == "half"


async def test_a_settled_preview_is_not_told_after_its_message() -> None:
    hub, owner = Hub(), object()
    mailbox = hub.join("s")
    live = hub.open("s", owner)
    live.preview = Preview(text="half")
    hub.show("s", live)
    assert hub.settle("s", owner) is live
    hub.publish("s", event(1))
    hub.show("s", live)
    assert [e.name for e in await mailbox.take(1)] == ["message"]


async def test_a_notice_leaves_the_running_reply_alone_but_a_closed_one_is_replaced() -> None:
    hub = Hub()
    live = hub.open("s", object())
    assert hub.settle("s", object()) is None
    live.closed = True
    assert hub.settle("s", object()) is live


async def test_a_reply_that_goes_on_after_its_preview_was_closed_stays_the_same_reply() -> None:
    """A Stop ends the preview; the message that says so comes from another run."""
    hub, owner = Hub(), object()
    first = hub.open("s", object())
    first.preview, first.closed = Preview(text="half"), True
    hub.show("s", first)
    second = hub.open("s", owner)
    assert second.id == first.id
    assert hub.join("s").live_id == first.id
    settled = hub.settle("s", owner)
    assert settled is second
    assert settled.preview.text == "half"


def replay(events: list[dict[str, object]]) -> dict[str, object]:
    """What the page does with preview events."""
    state: dict[str, object] = {}
    for data in events:
        for name, value in data.items():
            if name.endswith("_add"):
                state[name[:-4]] = str(state[name[:-4]]) + str(value)
            else:
                state[name] = value
    return state


def test_previews_travel_as_additions_and_replay_to_the_same_state() -> None:
    writer = PreviewWriter()
    steps = (Step("1", "Prices"),)
    stop = (Button("Stop", "stop:1", "danger"),)
    previews = [
        Preview(status="thinking", buttons=stop),
        Preview(text="GO", steps=steps, buttons=stop),
        Preview(text="GOOG rose", steps=steps, buttons=stop),
        Preview(text="GOOG 📈", thinking="hm", steps=steps, buttons=stop),
        Preview(text="", thinking="hm, so", steps=(*steps, Step("2", "Chart")), buttons=stop),
    ]
    events = [writer.write("p", p, False) for p in previews]
    assert events[2] == {"id": "p", "closed": False, "text_add": "OG rose"}
    state = replay(events)
    assert (state["text"], state["thinking"]) == ("", "hm, so")
    assert [s["id"] for s in state["steps"]] == ["1", "2"]  # type: ignore[attr-defined]


def test_the_traffic_of_a_long_reply_grows_with_its_length_not_its_square() -> None:
    writer, text, sent = PreviewWriter(), "", 0
    for _ in range(2_000):
        text += "word "
        sent += len(dumps(writer.write("p", Preview(text=text), False)))
    assert sent < 40 * len(text)


def test_half_a_surrogate_pair_still_encodes() -> None:
    assert json.loads(dumps({"text": "a\ud83d"})) == {"text": "a?"}
