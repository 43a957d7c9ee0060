"""The flood gate."""

from channels.flood import FloodGate


def test_a_limit_holds_for_its_chat_and_its_time() -> None:
    now = [100.0]
    gate = FloodGate(lambda: now[0])
    assert gate.left("a") == 0
    gate.limit("a", 30)
    assert (gate.left("a"), gate.left("b")) == (30, 0)
    gate.limit("a", 5)  # an earlier, longer limit stays
    now[0] += 10
    assert gate.left("a") == 20
    now[0] += 20
    assert gate.left("a") == 0
