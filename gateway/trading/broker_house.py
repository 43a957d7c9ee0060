"""The brokers of this installation, made from the settings. No client of a vendor is imported before its first order.

The paper broker is the default. A real one takes paper orders at its own paper account; live orders only where
`trading.live` is set, which is the first of the three switches.
"""

from collections.abc import Mapping

from pydantic import SecretStr

from agent_core.finance.broker import Broker
from agent_core.finance.broker_paper import PaperBroker
from agent_core.finance.sources.chain import Sources
from agent_core.ports import Clock
from agent_core.trading import Mode
from gateway.settings.trading import Trading


def brokers_of(settings: Trading, sources: Sources, clock: Clock) -> Mapping[Mode, Broker]:
    """A broker for each mode that may be ordered in."""
    if settings.broker == "paper":
        return {"paper": PaperBroker(sources, clock, settings.paper.fee_bps)}
    modes: tuple[Mode, ...] = ("paper", "live") if settings.live else ("paper",)
    make = _alpaca if settings.broker == "alpaca" else _ib
    return {mode: make(settings, mode) for mode in modes}


def _alpaca(settings: Trading, mode: Mode) -> Broker:
    from agent_core.finance.broker_alpaca import AlpacaBroker

    own, live = settings.alpaca, mode == "live"
    key, secret = (own.live_key, own.live_secret) if live else (own.key, own.secret)
    return AlpacaBroker(
        _text(key), _text(secret), live=live, url=own.live_url if live else own.paper_url
    )


def _ib(settings: Trading, mode: Mode) -> Broker:
    from agent_core.finance.broker_ib import InteractiveBroker

    own = settings.ib
    port = own.live_port if mode == "live" else own.paper_port
    return InteractiveBroker(own.host, port, own.client_id, live=mode == "live")


def _text(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""
