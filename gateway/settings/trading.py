"""The settings of trading: limits of orders, the paper account, and which broker takes orders."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from agent_core.finance import risk_limits
from gateway.settings.fields import Address, Money, Secret, Section, bare, fault

LIVE = "trading.live: live trading is subject to the law of your place and to your broker's terms"
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3,5}$")]


class Limits(Section):
    """What one order, and all orders of a person on one (UTC) day, may be worth in US dollars; null: without limit.

    `symbol_pct`: how much of the account one symbol may be after a purchase. `price_band_pct`: how far a price may
    lie from the last one (fat fingers); a stop that protects may lie farther.
    """

    order_usd: Money | None = 10_000.0
    day_usd: Money | None = 50_000.0
    symbol_pct: Percent | None = 25.0
    price_band_pct: Percent | None = 10.0

    def rules(self) -> risk_limits.Limits:
        """The limits as orders are held to them."""
        return risk_limits.Limits(
            self.order_usd, self.day_usd, self.symbol_pct, self.price_band_pct
        )


class Paper(Section):
    """The built-in paper account: what a person begins with, and its fee in hundredths of a percent of each trade."""

    cash: Money = 100_000.0
    currency: Currency = "USD"
    fee_bps: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 5.0


class Alpaca(Section):
    """Keys of Alpaca. An address of null is Alpaca's own: that of its paper accounts, or of live ones."""

    key: Secret = None
    secret: Secret = None
    paper_url: Annotated[Address, AfterValidator(bare)] = None
    live_key: Secret = None
    live_secret: Secret = None
    live_url: Annotated[Address, AfterValidator(bare)] = None


class InteractiveBrokers(Section):
    """TWS or IB Gateway, which runs beside the bot: one port leads to a paper account, another to a live one."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    paper_port: Annotated[int, Field(ge=1, le=65535)] = 4002
    live_port: Annotated[int, Field(ge=1, le=65535)] = 4001
    client_id: Annotated[int, Field(ge=0, le=999)] = 7


class Trading(Section):
    """Orders.

    `broker` takes paper orders; live ones only with `live: true`, with a preset that has an approval rule for
    `mode: live`, and with a person's yes to each.
    """

    broker: Literal["paper", "alpaca", "ib"] = "paper"
    live: bool = False
    limits: Limits = Limits()
    paper: Paper = Paper()
    alpaca: Alpaca = Alpaca()
    ib: InteractiveBrokers = InteractiveBrokers()

    def rehearsed(self) -> "Trading":
        """The same with play money alone: cases of presets are run with it, and nobody approves their orders."""
        return self.model_copy(update={"broker": "paper", "live": False})

    @model_validator(mode="after")
    def _usable(self) -> "Trading":
        if self.live and self.broker == "paper":
            raise fault(
                "live orders need a broker",
                "name one under trading.broker, or leave it out",
                "live",
            )
        if self.broker != "alpaca":
            return self
        if not (self.alpaca.key and self.alpaca.secret):
            raise fault(
                "alpaca needs its keys",
                "set alpaca.key and alpaca.secret (of a paper account)",
                "broker",
            )
        if self.live and not (self.alpaca.live_key and self.alpaca.live_secret):
            raise fault(
                "live orders need keys", "set alpaca.live_key and alpaca.live_secret", "live"
            )
        return self
