"""Everything about orders and books, made from the settings: the desk, the books, and the tools that stand on them."""

from dataclasses import dataclass

from agent_core.finance.fx import Rates
from agent_core.finance.orders import Desk
from agent_core.finance.portfolio_books import Books
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.sources.chain import Sources
from agent_core.ports import Clock
from agent_core.tools.orders import order_tools
from agent_core.tools.portfolio import portfolio_tools
from agent_core.tools.portfolio_update import portfolio_update_tools
from agent_core.tools.spec import ToolSpec
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from gateway.trading import halt
from gateway.trading.actions import CorporateActions
from gateway.trading.book import Start
from gateway.trading.broker_house import brokers_of
from gateway.trading.orders import OrderDesk
from gateway.trading.portfolio_desk import PortfolioDesk


@dataclass(frozen=True, slots=True)
class OrderHouse:
    """What the tools of books and orders stand on; without a part they say so."""

    desk: Desk | None = None
    books: Books | None = None
    rates: Rates | None = None

    def tools(self, sources: Sources) -> list[ToolSpec]:
        """The tools: portfolio, update_portfolio, place_order, cancel_order."""
        return [
            *portfolio_tools(self.books, self.desk, sources, self.rates),
            *portfolio_update_tools(self.books),
            *order_tools(self.desk, sources),
        ]


def order_desk(settings: Settings, db: Database, clock: Clock, sources: Sources) -> OrderDesk:
    """The desk of these settings. Asks nobody, and imports no vendor's client."""
    trading = settings.trading
    return OrderDesk(
        db,
        clock,
        Quotes(sources, Rates(), clock),
        brokers_of(trading, sources, clock),
        trading.limits.rules(),
        Start(trading.paper.cash, trading.paper.currency),
        settings.data_dir / halt.FILE,
        actions=CorporateActions(db, clock, sources),
    )


def order_house(desk: OrderDesk) -> OrderHouse:
    """What the tools stand on, around this desk."""
    return OrderHouse(desk, PortfolioDesk(desk.db, desk.clock, desk.quotes), Rates())
