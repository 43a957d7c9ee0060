"""What can go wrong in the agent core.

SwarmgateError
├── Fenced                 another run owns this conversation now: stop, write nothing
├── Reload                 a commit went through unseen: read the rows again and go on
├── Waiting                the run can go no further until a person has answered
│   └── BudgetWaits        ... or a pot has room again
├── BudgetExceeded         a pot has no room for the next model call (carries which, and when it begins anew)
├── LimitReached           a limit of the preset ended the run (carries which)
└── ModelError             a model call failed (carries provider, whether it may be retried)
    ├── ModelAuthRefused   the key is refused: never retried, never switched
    ├── ModelUnknown       no such model
    ├── ModelBadRequest    the provider refuses the request as it stands
    ├── ContextTooLong     the request is larger than the model's window
    ├── ModelRateLimited   429 (carries retry_after)
    ├── ModelOverloaded    5xx, 529
    ├── ModelTimeout       first token, idle or total time is over (carries which)
    ├── ModelUnreachable   no connection
    └── StreamBroken       the stream ended without a stop reason, or in the middle of a tool call

Exceptions carry data; what a person reads is made from it where it is shown.
"""

import datetime as dt
from typing import Literal


class SwarmgateError(Exception):
    """Base of every error that is ours."""


class Fenced(SwarmgateError):
    """Another run has taken this conversation over."""


class Reload(SwarmgateError):
    """A commit went through although its answer was lost; the rows must be read again."""


class Waiting(SwarmgateError):
    """A person has been asked; the run ends here and goes on from its rows once there is an answer."""


class BudgetWaits(Waiting):
    """A pot has no room for the next model call; the run goes on from its rows once it has."""


class BudgetExceeded(SwarmgateError):
    """A pot has no room for the next model call, which was not made.

    Attributes:
        pot: its kind, such as "user_day"; "run" for a limit of the preset, "unpriced" where the pots' rules refuse a
            model without a known price.
        unit: "usd", "tokens" or "runs".
        size: of the pot in that unit; US dollars are dollars.
        resets_at: when it begins anew, in the time zone of the pots; None: never.
        model: of the call.
        fallback: the model that may answer in its place for the rest of the turn, "" for none.
    """

    def __init__(
        self,
        pot: str,
        unit: str = "usd",
        size: float = 0.0,
        *,
        resets_at: dt.datetime | None = None,
        model: str = "",
        fallback: str = "",
    ) -> None:
        super().__init__(f"budget {pot} ({size:g} {unit}) has no room for a call of {model}")
        self.pot = pot
        self.unit = unit
        self.size = size
        self.resets_at = resets_at
        self.model = model
        self.fallback = fallback


class LimitReached(SwarmgateError):
    """A limit of the preset ended the run."""

    def __init__(self, limit: str, value: str) -> None:
        super().__init__(f"{limit} {value} reached")
        self.limit = limit
        self.value = value


class ModelError(SwarmgateError):
    """A model call failed.

    Attributes:
        provider: name of the provider entry in the settings.
        retryable: whether the same call, or another provider, may succeed (FBK-1).
    """

    retryable = False

    def __init__(self, provider: str, detail: str = "") -> None:
        super().__init__(f"{provider}: {detail or self.__class__.__doc__}")
        self.provider = provider
        self.detail = detail


class ModelAuthRefused(ModelError):
    """The provider refuses the key."""


class ModelUnknown(ModelError):
    """The provider has no such model."""


class ModelBadRequest(ModelError):
    """The provider refuses the request."""


class ContextTooLong(ModelError):
    """The request is larger than the model's window."""


class ModelRateLimited(ModelError):
    """The provider limits the rate."""

    retryable = True

    def __init__(self, provider: str, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(provider, detail)
        self.retry_after = retry_after


class ModelOverloaded(ModelError):
    """The provider is overloaded or failing."""

    retryable = True


class ModelTimeout(ModelError):
    """The model was silent for too long."""

    retryable = True

    def __init__(
        self, provider: str, phase: Literal["first_token", "idle", "total"], seconds: float
    ) -> None:
        super().__init__(provider, f"{phase} time-out after {seconds:g} s")
        self.phase = phase
        self.seconds = seconds


class ModelUnreachable(ModelError):
    """The provider cannot be reached."""

    retryable = True


class StreamBroken(ModelError):
    """The stream ended badly."""

    retryable = True
