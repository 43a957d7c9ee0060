"""A house with books and orders on bundled prices, and what its scripted model calls."""

from typing import Any

from agent_core.models.scripted import Answer
from agent_core.tools.registry import Registry
from gateway.storage.db import Database
from gateway.trading.house import order_house
from gateway.trading.keeper import OrderKeeper
from gateway.trading.orders import OrderDesk
from tests.harness import Toolbox, agent, call, team
from tests.house import House, Watch
from tests.unit.gateway.trading import SOURCES, desk

TRADING = ("portfolio", "update_portfolio", "place_order", "cancel_order")
THE_TEAM = team(agent(tools=TRADING))


class OrderTools(Toolbox):
    """Those of the harness, and those of books and orders."""

    def __init__(self, at: OrderDesk) -> None:
        super().__init__()
        self.desk = at

    def registry(self) -> Registry:
        return Registry([*super().registry(), *order_house(self.desk).tools(SOURCES)])


def house(db: Database, *script: Any, **more: Any) -> House:
    clock = more.pop("clock", None) or Watch()
    at = more.pop("desk", None) or desk(db, clock)
    made = House(
        db,
        list(script),
        clock=clock,
        the_team=more.pop("the_team", THE_TEAM),
        tools=OrderTools(at),
        **more,
    )
    made.commands.halted = at.wake
    return made


def keeper(it: House, at: OrderDesk) -> OrderKeeper:
    made = OrderKeeper(it.db, at, it.senders, sleep=it._nap)
    at.wake = made.wake
    return made


def calls(name: str, call_id: str = "c1", **args: Any) -> Answer:
    return Answer(calls=(call(name, call_id, **args),))


def buy(quantity: float = 2, call_id: str = "o1", **more: Any) -> Answer:
    return calls("place_order", call_id, symbol="GOOG", side="buy", quantity=quantity, **more)


def change(*items: dict[str, Any], call_id: str = "u1") -> Answer:
    return calls("update_portfolio", call_id, items=list(items))
