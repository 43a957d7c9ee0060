"""What operators see and do in the console, over a real core: each page's data, and what each action changes."""

import datetime as dt
import json
import logging
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Connection, insert, text
from yarl import URL

from agent_core.compaction.decisions import Cleared, Summary, checkpoint
from agent_core.storage.sessions import add_checkpoint
from agent_core.storage.statements import append_rows, ensure_session
from agent_core.storage.tables import Trace
from agent_core.storage.tables_memory import MemoryRow
from agent_core.types import Message, NewRow, RowKind, ToolResult, ToolUse, assistant, user
from channels.types import Address
from gateway.log_context import bound
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.people import access
from gateway.settings.access import Access
from gateway.storage.tables import OutboxStatus
from tests.harness import judged
from tests.unit.gateway.console_house import ConsoleHouse, console_house, on

NOW = dt.datetime.now(dt.UTC)
pytestmark = pytest.mark.slow  # each builds a whole core
SECRET = "sk-ant-" + "a1b2c3d4" * 5


@pytest.fixture
async def house(tmp_path: Path, database_url: str) -> AsyncIterator[ConsoleHouse]:
    async with console_house(tmp_path, **on(database_url)) as made:
        yield made


def _long_session(conn: Connection) -> None:
    """Alice's session: a summary stands for its first rows, and one result is cleared."""
    ensure_session(conn, "s1", "telegram:1", NOW)
    call = ToolUse("c1", "get_prices", {"symbol": "GOOG"})
    result = Message("user", (ToolResult("c1", "get_prices", "a long table " * 50),))
    rows = [
        NewRow(RowKind.USER, user("the first question")),
        NewRow(RowKind.ASSISTANT, assistant("the first answer")),
        NewRow(RowKind.USER, user(f"<script>alert(1)</script> {SECRET}")),
        NewRow(RowKind.ASSISTANT, assistant("I look", call)),
        NewRow(RowKind.INTENT, assistant("", call), ref="c1"),
        NewRow(RowKind.RESULT, result, ref="c1"),
        NewRow(RowKind.ASSISTANT, assistant("the last answer")),
    ]
    append_rows(conn, "s1", 1, 0, rows, NOW)
    summary = Summary("WHAT WAS SAID BEFORE", "structured", before=900, after=90)
    add_checkpoint(conn, "s1", checkpoint(summary, until=3), NOW)
    add_checkpoint(conn, "s1", checkpoint(Cleared((6,)), until=7), NOW)


async def test_a_session_shows_beside_its_rows_what_a_model_sees_of_them(
    house: ConsoleHouse,
) -> None:
    await house.core.db.write(_long_session)
    async with house.program("viewer") as client, client.get("/api/v1/sessions/s1") as response:
        page = await response.json()
    fates = {row["seq"]: row["fate"] for row in page["rows"]}
    assert fates == {
        1: "summarised",
        2: "summarised",
        3: "whole",
        4: "whole",
        6: "cleared",
        7: "whole",
    }
    cleared = next(row for row in page["rows"] if row["seq"] == 6)
    assert "a long table" in cleared["said"]
    assert "a long table" not in cleared["seen"]
    assert "[cleared" in cleared["seen"]
    assert "WHAT WAS SAID BEFORE" in page["summary"][0]
    async with house.visit("viewer") as visit:
        shown = await visit.see("/sessions/s1")
        assert "&lt;script&gt;alert(1)" in shown
        assert "<script>alert" not in shown
        assert SECRET not in shown
        archive = await visit.see("/sessions/s1/archive")
        assert "WHAT WAS SAID BEFORE" in archive
        assert "a long table" in await visit.see("/sessions/s1/archive/r6")
        assert "the first answer" in await visit.see("/sessions/s1/archive/r1-r2")
        assert "telegram:1" in await visit.see("/sessions?words=telegram:1")
        assert "telegram:1" not in await visit.see("/sessions?words=nobody")


async def test_a_pairing_code_is_approved_in_the_console_and_by_nobody_who_only_looks(
    house: ConsoleHouse,
) -> None:
    pairing = Access(default="pairing")
    verdict = await house.core.db.write(
        lambda conn: judged(conn, pairing, "telegram:5", "Eve", NOW)
    )
    code = verdict.code or ""
    async with house.visit("viewer") as visit:
        assert code not in await visit.see("/people"), "whoever sees the code could pass it on"
        assert "This needs the role operator" in await visit.do("/people/approve", code=code)
    async with house.visit("operator", "zh") as visit:
        assert code in await visit.see("/people")
        assert "telegram:5 现在可以使用了" in await visit.do("/people/approve", code=code)
        assert "没有此配对码" in await visit.do("/people/approve", code=code)
        assert "已被封禁" in await visit.do("/people/telegram%3A5/access", access="revoked")
    allowed = await house.core.db.read(lambda conn: access.is_allowed(conn, pairing, "telegram:5"))
    assert not allowed
    deeds = await audit_of(house)
    assert [(d["by"], d["action"], d["target"]) for d in deeds][:2] == [
        ("token:bob", "person_revoked", "user telegram:5"),
        ("token:bob", "approve_person", "user telegram:5"),
    ]


async def audit_of(house: ConsoleHouse) -> list[dict[str, Any]]:
    async with house.program("admin") as client, client.get("/api/v1/access") as response:
        deeds: list[dict[str, Any]] = (await response.json())["deeds"]
        return deeds


async def test_what_came_of_an_action_is_told_once_to_the_page_that_follows(
    house: ConsoleHouse,
) -> None:
    words = "This needs the role operator"
    async with house.visit("viewer") as visit, house.visit("operator") as other:
        data = {"form": visit.form, "back": "/console"}
        await visit.client.post("/console/halt", data=data, allow_redirects=False)
        looks = {"X-Console-Live": "1"}  # the old page, which heard of the change before it is left
        async with visit.client.get("/console", headers=looks) as response:
            assert words not in await response.text()
        (cookie,) = [c for c in visit.client.cookie_jar if "told" in c.key]
        assert cookie["httponly"]
        for wrong in (cookie.value, "", ".", "¿que?", f"{cookie.value}é", cookie.value[:-1]):
            other.client.cookie_jar.update_cookies({cookie.key: wrong}, URL(house.url))
            assert words not in await other.see(""), "it was not told by this log-in"
        assert words in await visit.see("")
        assert words not in await visit.see("")


async def test_long_words_about_an_action_are_cut_to_what_a_browser_keeps(
    house: ConsoleHouse,
) -> None:
    who = f"telegram:{'人' * 850}"
    open_ = Access(default="allow")
    await house.core.db.write(lambda conn: judged(conn, open_, who, "Alice", NOW))
    async with house.visit("operator") as visit:
        path = f"/console/people/{quote(who, safe='')}/access"
        data = {"form": visit.form, "back": "/console", "access": "allowed"}
        async with visit.client.post(path, data=data, allow_redirects=False) as response:
            (cookie,) = response.headers.getall("Set-Cookie")
        assert len(cookie) < 4_096
        assert f"{who[:780]}" in await visit.see("")


async def test_forgetting_a_person_needs_an_admin_and_the_persons_id(house: ConsoleHouse) -> None:
    await house.core.db.write(_long_session)
    open_ = Access(default="allow")
    await house.core.db.write(lambda conn: judged(conn, open_, "telegram:1", "Alice", NOW))
    async with house.visit("operator") as visit:
        assert "Forget everything" not in await visit.see("/people/telegram%3A1")
        said = await visit.do("/people/telegram%3A1/forget", confirm="telegram:1")
        assert "This needs the role admin" in said
    async with house.visit("admin") as visit:
        wrong = await visit.do("/people/telegram%3A1/forget", confirm="telegram:2")
        assert "Write the person&#39;s id to confirm" in wrong
        assert "the last answer" in await visit.see("/sessions/s1")
        said = await visit.do("/people/telegram%3A1/forget", confirm="telegram:1")
        assert "Left: 0." in said
        async with visit.client.get("/console/sessions/s1") as response:
            assert response.status == 404


async def test_a_parked_reply_is_listed_with_its_reason_and_sent_again(house: ConsoleHouse) -> None:
    draft = Draft(1, "answer", "telegram:1", Address("telegram", "9", "1"), "what was asked for")

    def park(conn: Connection) -> int:
        number = outbox.put(conn, draft, NOW)
        conn.execute(
            text("update outbox set status = :s, error = 'chat not found' where id = :id"),
            {"s": int(OutboxStatus.PARKED), "id": number},
        )
        return number

    number = await house.core.db.write(park)
    async with house.visit("operator") as visit:
        page = await visit.see("/deliveries")
        assert "chat not found" in page
        assert "what was asked for" in page
        assert f"Reply {number} is being sent." in await visit.do(f"/deliveries/{number}/resend")
        assert "No parked reply" in await visit.do(f"/deliveries/{number + 1}/resend")


async def test_many_parked_replies_are_narrowed_down_and_sent_again(house: ConsoleHouse) -> None:
    """What was parked after the page was shown, and what it did not show, is left alone."""
    now = house.core.clock.now()
    long_ago = now - dt.timedelta(days=30)
    for number, (chat, why, at) in enumerate(
        [("1", "busy", now), ("2", "busy", now), ("2", "gone", now), ("1", "busy", long_ago)], 1
    ):
        await house.core.db.write(partial(_park, number=number, chat=chat, why=why, at=at))
    async with house.visit("viewer") as visit:
        assert "answer 1" in await visit.see("/deliveries")
        assert "Send all" not in await visit.see("/deliveries")
    async with house.visit("operator") as visit:
        assert "Send all 4 again" in await visit.see("/deliveries")
        page = await visit.see("/deliveries?cause=BUSY&age=day")
        assert "Send all 2 again" in page
        assert ("answer 2" in page, "answer 3" in page, "answer 4" in page) == (True, False, False)
        assert "answer 4" in await visit.see("/deliveries?age=older")
        assert "No reply is found." in await visit.see("/deliveries?channel=slack")
        await house.core.db.write(partial(_park, number=5, chat="1", why="busy", at=now))
        seen = {"cause": "BUSY", "age": "day", "upto": "2"}
        said = await visit.do("/deliveries/resend", **seen)
        assert "Replies that are being sent: 2." in said
        assert "Replies that are being sent: 0." in await visit.do("/deliveries/resend", **seen)
    ready = text("select turn_id from outbox where status <> :s order by id")
    parked = {"s": int(OutboxStatus.PARKED)}
    sent = await house.core.db.read(lambda conn: conn.execute(ready, parked).scalars().all())
    assert sent == [1, 2]
    async with house.visit("admin") as visit:
        assert "2: 1 to 2" in await visit.see("/access")


def _park(conn: Connection, *, number: int, chat: str, why: str, at: dt.datetime) -> None:
    address = Address("telegram", "9", chat)
    row = outbox.put(conn, Draft(number, "answer", "telegram:1", address, f"answer {number}"), at)
    values = {"s": int(OutboxStatus.PARKED), "e": why, "id": row}
    conn.execute(text("update outbox set status = :s, error = :e where id = :id"), values)


async def test_settings_show_what_holds_and_no_secret(tmp_path: Path) -> None:
    models = {
        "default": "demo",
        "providers": {
            "mine": {"kind": "openai", "api_key": SECRET, "base_url": "http://127.0.0.1:9/v1"}
        },
    }
    async with console_house(tmp_path, models=models) as house, house.visit("viewer") as visit:
        page = await visit.see("/settings")
        assert "models.providers.mine.api_key" in page
        assert "http.console_token" in page
        assert "[redacted]" in page
        for secret in house.settings.secrets():
            assert secret not in page


async def test_an_edit_with_a_mistake_is_told_with_line_and_column_and_changes_nothing(
    house: ConsoleHouse, tmp_path: Path
) -> None:
    async with house.visit("operator") as visit:
        begun = await visit.do("/presets/trading-desk/extend", name="mine")
        assert "mine is there" in begun
        assert 'data-base="' in await visit.see("/presets/mine/edit")
    file = tmp_path / "presets" / "mine.yaml"
    before = file.read_text("utf-8")
    wrong = before + "supervisor:\n  limits: {tiem: 4m}\n"
    right = before + "supervisor:\n  limits: {time: 4m}\n"
    line = wrong.count("\n")
    async with house.program("operator") as client:
        async with client.get("/api/v1/presets/mine") as response:
            preset = await response.json()
        base = preset["digest"]
        async with client.post("/api/v1/presets/mine/check", json={"text": wrong}) as response:
            found = await response.json()
        (problem,) = found["problems"]
        assert (problem["line"], problem["column"], found["fine"]) == (line, 12, False)
        assert "time" in problem["cure"]
        body = {"text": wrong, "base": base}
        async with client.post("/api/v1/presets/mine/save", json=body) as response:
            assert (await response.json())["saved"] is False
        assert file.read_text("utf-8") == before
        body = {"text": right, "base": base}
        async with client.post("/api/v1/presets/mine/save", json=body) as response:
            assert (await response.json())["saved"] is True
        assert file.read_text("utf-8") == right
        team = house.core.turns.teams.find("mine")
        assert team is not None
        assert team.supervisor.limits.time == 240
        async with client.post("/api/v1/presets/mine/save", json=body) as response:
            assert response.status == 409, "it was made from a text that is no more"
        async with client.get("/api/v1/presets/mine") as response:
            changes = (await response.json())["changes"]
        assert {"path": "supervisor.limits.time", "before": "5m", "now": "4m"} in changes or any(
            c["path"] == "supervisor.limits.time" and c["now"] == "4m" for c in changes
        )
    assert list(file.parent.glob(".*")) == []


async def test_a_shipped_preset_and_files_elsewhere_are_not_written(
    house: ConsoleHouse, tmp_path: Path
) -> None:
    async with house.program("admin") as client:
        for name in ("solo", "nothing", "..%2F..%2Fetc", "%2Fetc%2Fpasswd"):
            body = {"text": "version: 1\n", "base": ""}
            async with client.post(f"/api/v1/presets/{name}/save", json=body) as response:
                assert response.status == 404, name
        body = {"name": "../evil"}
        async with client.post("/api/v1/presets/solo/extend", json=body) as response:
            assert response.status == 422
    assert not (tmp_path / "evil.yaml").exists()


async def test_every_page_opens_in_both_languages_for_each_role(house: ConsoleHouse) -> None:
    from gateway.console.plan import VIEWS

    await house.core.db.write(_long_session)
    paths = [v for v in VIEWS if "{" not in v.path]
    for role, language in (("viewer", "en"), ("admin", "zh")):
        async with house.visit(role, language) as visit:
            for view in paths:
                async with visit.client.get(f"/console{view.path}") as response:
                    allowed = role == "admin" or view.role == "viewer"
                    assert response.status == (200 if allowed else 403), view.path
                    page = await response.text()
                assert ('<html lang="zh-CN">' in page) is (language == "zh")


async def test_a_log_line_is_found_without_its_secrets(house: ConsoleHouse) -> None:
    import logging

    logging.getLogger("gateway.test").warning("lookout", extra={"note": f"key {SECRET} went by"})
    async with house.visit("viewer") as visit:
        page = await visit.see("/search?words=lookout")
        assert "went by" in page
        assert SECRET not in page
        assert "went by" not in await visit.see("/search?words=lookout+absent")


async def test_log_lines_and_traces_of_one_turn_are_found_together(house: ConsoleHouse) -> None:
    await house.core.db.write(_long_session)
    with bound(turn=1, session="s1"):
        logging.getLogger("gateway.turns").warning("slow_tool", extra={"tool": "chart"})
    logging.getLogger("gateway.turns").warning("of_nobody")
    trace = {"turn_id": 1, "session_id": "s1", "owner": "telegram:1", "event": "tool_result"}
    body = {"body": json.dumps({"tool": "chart", "seconds": 4, "args": {"symbol": "GOOG"}})}
    old = NOW - dt.timedelta(days=2)
    insert_ = insert(Trace.__table__)  # type: ignore[attr-defined]
    await house.core.db.write(lambda conn: conn.execute(insert_, trace | body | {"at": old}))
    async with house.visit("viewer") as visit:
        page = await visit.see("/search?turn=1&session=s1")
        assert "slow_tool" in page
        assert "of_nobody" not in page
        assert "tool=chart seconds=4" in page
        assert "GOOG" in await visit.see("/search?person=telegram:1&words=goog")
        assert "GOOG" not in await visit.see("/search?person=telegram:2")
        assert "GOOG" not in await visit.see("/search?hours=1")


async def test_a_session_shows_what_was_remembered_from_it(house: ConsoleHouse) -> None:
    await house.core.db.write(_long_session)
    for session, words in (("s1", "Five per cent at most."), ("s2", "Of another session.")):
        values = dict.fromkeys(("codes", "topic_key"), "") | {
            "owner": "telegram:1", "kind": "preference", "text": words, "hash": words, "meta": "{}",
            "source": f"chat_log:{session}", "created_at": NOW, "scope": "private", "level": "raw",
            "credibility": "mixed", "quality": 0.5, "access_count": 0,
        }  # fmt: skip
        row = insert(MemoryRow.__table__).values(values)  # type: ignore[attr-defined]
        await house.core.db.write(lambda conn, row=row: conn.execute(row))  # type: ignore[misc]
    async with house.visit("viewer") as visit:
        page = await visit.see("/sessions/s1/memory")
        assert "Five per cent at most." in page
        assert "Of another session." not in page


async def test_an_ended_login_is_out_at_the_next_click(house: ConsoleHouse) -> None:
    async with house.visit("viewer") as watch, house.visit("admin") as admin:
        async with house.program("admin") as client, client.get("/api/v1/access") as response:
            held = (await response.json())["logins"]
        (mine,) = [one["id"] for one in held if one["owner"] == "token:watch"]
        assert "The log-in of token:watch is over" in await admin.do(f"/access/{mine}/end")
        async with watch.client.get("/console", allow_redirects=False) as response:
            assert response.status == 303


async def test_an_open_page_is_told_of_what_changes_and_let_go_when_the_process_stops(
    house: ConsoleHouse,
) -> None:
    async with house.visit("operator") as visit, visit.client.get("/console/events") as response:
        assert response.content_type == "text/event-stream"
        first = await _state(response)
        assert first["halted"] is False
        await visit.do("/halt", reason="a test")
        while not (await _state(response))["halted"]:
            pass
        await house.door.stop()
        assert b"data:" not in await response.content.read(), "the stream ends"


async def _state(response: Any) -> dict[str, Any]:
    while not (line := await response.content.readline()).startswith(b"data: "):
        assert line
    state: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
    return state


async def test_a_shipped_preset_is_told_from_ones_own(house: ConsoleHouse, tmp_path: Path) -> None:
    (tmp_path / "presets").mkdir()
    own = "version: 1\nname: mine\ntitle: Mine\nextends: solo\n"
    (tmp_path / "presets" / "mine.yaml").write_text(own, encoding="utf-8")
    async with house.program("viewer") as client, client.get("/api/v1/presets") as response:
        found = {p["name"]: (p["own"], p["state"]) for p in (await response.json())["presets"]}
    assert found["mine"] == (True, "ready")
    assert found["solo"] == (False, "ready")
    assert found["trading-desk"] == (False, "default")
    assert found["desk-base"] == (False, "abstract")


async def test_a_budget_is_granted_once_more_until_its_day_is_over(house: ConsoleHouse) -> None:
    open_ = Access(default="allow")
    await house.core.db.write(lambda conn: judged(conn, open_, "telegram:1", "Alice", NOW))
    async with house.visit("viewer") as visit:
        assert "Grant once more" not in await visit.see("/people/telegram%3A1")
    async with house.visit("operator") as visit:
        before = await visit.see("/people/telegram%3A1")
        assert "$0.00 / $2.00" in before
        said = await visit.do("/budgets/raise", kind="user_day", person="telegram:1")
        assert "granted once more" in said
        assert "$0.00 / $4.00" in await visit.see("/people/telegram%3A1")
        assert "$0.00 / $25.00" in await visit.see("")
        assert "Name a person" in await visit.do("/budgets/raise", kind="user_day", person="")
        assert "No such budget" in await visit.do("/budgets/raise", kind="month", person="")
    deed = (await audit_of(house))[0]
    assert deed["action"] == "raise_budget"
    assert deed["target"].endswith("of user telegram:1")
