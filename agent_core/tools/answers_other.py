"""What tools answer with that have no prices: files, pages, commands, orders, tasks, alerts (TGV-1, MCP-2).

As in answers.py an answer says where it is from, of which day, and how far it may be believed, and may have further
fields. What came from outside stands fenced in one text: it is data, whatever it says.
"""

from pydantic import BaseModel, ConfigDict

from agent_core.tools.answers import Row, Stated
from agent_core.tools.spec import Credibility


class Answer(BaseModel):
    """An answer as fields."""

    model_config = ConfigDict(defer_build=True)  # for its schema alone


class From(Answer):
    """What an answer from outside the price sources says of itself."""

    source: str
    as_of: str
    credibility: Credibility
    note: str = ""


class Page(From):
    """A page of the web, or a part of it."""

    url: str
    title: str
    fetched_at: str
    dated: str
    reader: str
    notice: str
    chars: int
    offset: int
    text: str


class Results(From):
    """What a search of the web found, as one text."""

    query: str
    notice: str
    results: str


class Document(From):
    """A file that the person sent, or a part of it."""

    name: str
    id: str
    kind: str
    title: str
    part: str
    parts: list[str] | str
    chars: int
    offset: int
    notice: str
    text: str


class File(From):
    """A text file of the workspace, the entries of a folder, or a file that is no text and was shown."""

    path: str
    chars: int | None = None
    offset: int | None = None
    text: str | None = None
    entries: str | None = None
    bytes: int | None = None
    artifact: str | None = None


class Written(From):
    """A file of the workspace that was written."""

    path: str
    written_bytes: int


class Ran(From):
    """A shell command that has ended; `exit_code` is None where it was stopped."""

    exit_code: int | None
    output: str


class Ordered(Stated):
    """An order as it stands."""

    order_id: int
    status: str
    symbol: str
    side: str
    quantity: float
    kind: str
    limit_price: float | None
    stop: float | None
    fill_price: float | None
    filled_on: str | None
    fee: float
    notional_usd: float
    account: str
    mode: str
    at: str


class Tasks(Answer):
    """The person's background tasks, or one of them with its result."""

    tasks: list[Row] | None = None
    task_id: str | None = None
    tool: str | None = None
    status: str | None = None
    result: object = None
    note: str = ""


class Alerts(Answer):
    """The alerts of this chat, the one that was made, or the number of the one that is gone."""

    alerts: list[Row] | None = None
    number: int | None = None
    alert: str | None = None
    state: str | None = None
    repeat: bool | None = None
    last_close: float | None = None
    remark: list[str] | str | None = None
    removed: int | None = None
    note: str = ""


class Reminded(Answer):
    """What the person is told of their reminders."""

    answer: str


class Found(Answer):
    """Messages of past conversations, the best first; `ref` gives back the whole of one (restore_archive)."""

    found: list[Row]
    note: str
