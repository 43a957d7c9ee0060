"""What can go wrong at a platform. The outbox decides by these, and by nothing else.

ChannelError
├── FloodLimited      wait `retry_after` seconds; nothing was sent
├── Unreachable       nothing was sent; try again later
├── Ambiguous         it may or may not have been sent (time-out or reset after the request left)
├── Refused           the platform refuses this content for good (carries what it said)
├── Gone              the chat is closed to us for good (blocked, kicked, deleted)
├── UnknownChannel    no such channel, or not that account, is switched on
└── BadCredentials    the token is refused: the channel cannot run
"""


class ChannelError(Exception):
    """Base of all platform failures."""


class FloodLimited(ChannelError):
    """The platform asks to wait."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"retry after {retry_after:g} s")
        self.retry_after = retry_after


class Unreachable(ChannelError):
    """Not sent; trying again is safe."""


class Ambiguous(ChannelError):
    """Perhaps sent."""


class Refused(ChannelError):
    """Refused for good."""


class Gone(ChannelError):
    """The chat is closed to us."""


class BadCredentials(ChannelError):
    """The platform refuses the token."""


class UnknownChannel(ChannelError):
    """No channel serves this address."""
