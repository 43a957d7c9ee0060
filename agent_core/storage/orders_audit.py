"""The audit of orders: a chain in which each row's hash covers the one before it. Statements; none commits.

Every step of an order (placed, sent, filled, cancelled, refused) and of the kill switch is a row, written in the
transaction of the step itself. The caller holds the switch's row (orders_halt.py), so that rows come one by one.

    digest = sha256(canonical JSON of the step)    hash = sha256(previous hash + owner's part + digest)

Whoever may write to the database can write the whole chain anew; who keeps `head` elsewhere can tell. When a person is
forgotten, `body` and `owner` go and `digest` stays, salted, so that it tells nothing of them and the chain holds.
"""

import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from agent_core.storage.tables_orders import OrderAudit, TradeOrder

_AUDIT = OrderAudit.__table__  # type: ignore[attr-defined]
_ORDER = TradeOrder.__table__  # type: ignore[attr-defined]
FIRST = "0" * 64
ERASED = ""
SALT_BYTES = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a walk over the chain found. `broken`: one line for each thing that does not fit; empty: it holds.

    `head` is the last hash, `erased` how many rows belong to persons who were forgotten.
    """

    rows: int
    head: str
    erased: int
    broken: tuple[str, ...] = ()


def note(
    conn: Connection, owner: str, event: str, at: dt.datetime, fields: Mapping[str, object]
) -> None:
    """Add a step to the chain. `fields` are JSON; the order's own number stands in `order`."""
    last = conn.execute(select(_AUDIT.c.n, _AUDIT.c.hash).order_by(_AUDIT.c.n.desc()).limit(1))
    row = last.first()
    n, previous = (row.n + 1, row.hash) if row else (1, FIRST)
    step = dict(fields) | {
        "event": event,
        "owner": owner,
        "at": at.isoformat(),
        "salt": secrets.token_hex(SALT_BYTES),
    }
    body = json.dumps(step, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    digest = _sha(body)
    values = {
        "n": n,
        "owner": owner,
        "body": body,
        "digest": digest,
        "previous": previous,
        "hash": _sha(f"{previous}{n}{digest}"),
    }
    conn.execute(insert(_AUDIT), values)


def verify(conn: Connection) -> Verdict:
    """Walk over the whole chain, and hold every order against the last step that it has there. Reads only."""
    broken: list[str] = []
    previous, expected, erased = FIRST, 1, 0
    last: dict[int, str] = {}
    for row in conn.execute(select(_AUDIT).order_by(_AUDIT.c.n)):
        if row.n != expected:
            broken.append(f"row {expected} is missing: the next one is {row.n}")
        if row.previous != previous:
            broken.append(f"row {row.n} does not follow the row before it")
        if row.hash != _sha(f"{row.previous}{row.n}{row.digest}"):
            broken.append(f"row {row.n} has another hash than its content")
        if row.body == ERASED:
            erased += 1
        elif _sha(row.body) != row.digest:
            broken.append(f"row {row.n} was changed after it was written")
        else:
            step = json.loads(row.body)
            last[int(step.get("order", 0))] = _state(step)
        previous, expected = row.hash, row.n + 1
    return Verdict(expected - 1, previous, erased, (*broken, *_unlike(conn, last)))


def _state(step: Mapping[str, object]) -> str:
    return f"{step.get('status')} {step.get('symbol')} {step.get('side')} {step.get('quantity')} {step.get('price')}"


def fields_of(order: object, status: str, price: float | None) -> dict[str, object]:
    """What every step of an order says; `order` is anything with an order's columns."""
    return {
        "order": order.id,  # type: ignore[attr-defined]
        "symbol": order.symbol,  # type: ignore[attr-defined]
        "side": order.side,  # type: ignore[attr-defined]
        "quantity": order.quantity,  # type: ignore[attr-defined]
        "status": status,
        "price": price,
    }


def _unlike(conn: Connection, last: Mapping[int, str]) -> list[str]:
    """Orders whose row says something else than their last step, and steps whose order is gone."""
    found: list[str] = []
    there = set(conn.execute(select(_ORDER.c.id)).scalars())
    gone = sorted(last.keys() - there - {0})  # 0: of the switch
    found += [f"order {order} is in the audit, and its row is gone" for order in gone]
    for row in conn.execute(select(_ORDER).order_by(_ORDER.c.id)):
        told = last.get(row.id)
        if told is None:
            found.append(f"order {row.id} has no step in the audit")
        elif told != _state(fields_of(row, row.status, row.fill_price)):
            found.append(f"order {row.id} is not as its last step in the audit says")
    return found


def count(conn: Connection, owners: Collection[str]) -> int:
    """How many rows tell of these persons."""
    query = select(func.count()).select_from(_AUDIT).where(_AUDIT.c.owner.in_(owners))
    return conn.execute(query).scalar_one()


def erase(conn: Connection, owners: Collection[str], nobody: str) -> None:
    """Take the words out of the rows of these persons; the hashes stay."""
    mine = update(_AUDIT).where(_AUDIT.c.owner.in_(owners))
    conn.execute(mine.values(body=ERASED, owner=nobody))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
