"""The index of what a person said, was told and is remembered for (RCL-10, MEM-17).

Words are stored apart for each *space*, an owner in a scope: each begins with the space's number, so that one space's
postings never touch, count or reveal another's. What was said and what is remembered are spaces of their own. Within a
space, rows belong to *groups*: a session, or one memory. The id of a `recall_doc` holds its group, its place there and
what a score needs, so no row is read to score it (`agent_core/storage/postings.py`).

SQLite searches through FTS5 over this table, kept by triggers: a row that is deleted here is gone from the index in
the same transaction. PostgreSQL has a GIN index over the array.
"""

from sqlalchemy import (
    ARRAY,
    DDL,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
    event,
)
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import Field

from agent_core.storage.tables import BigId, Stored

# FTS5 with our own words only: letters and digits, so its tokenizer has nothing to split (defect 5).
SQLITE_UP = (
    "create virtual table recall_fts using fts5"
    "(terms, content='recall_doc', content_rowid='id', tokenize='ascii', columnsize=0)",
    "create virtual table recall_word using fts5vocab('recall_fts', 'instance')",
    "create trigger recall_doc_added after insert on recall_doc begin"
    " insert into recall_fts(rowid, terms) values (new.id, new.terms); end",
    "create trigger recall_doc_gone after delete on recall_doc begin"
    " insert into recall_fts(recall_fts, rowid, terms) values ('delete', old.id, old.terms); end",
)
SQLITE_DOWN = (
    "drop trigger if exists recall_doc_added",
    "drop trigger if exists recall_doc_gone",
    "drop table if exists recall_word",
    "drop table if exists recall_fts",
)
# What SQLite keeps of them beside the tables of the metadata: for tools that compare schemas.
SQLITE_TABLES = frozenset(
    ["recall_word", "recall_fts"]
    + [f"recall_fts_{part}" for part in ("data", "idx", "docsize", "config", "content")]
)


class Words(TypeDecorator[list[str]]):
    """A list of words of letters and digits: an array on PostgreSQL, one text with spaces on SQLite."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: object) -> TypeEngine[list[str]]:
        """The type of the database."""
        name = getattr(dialect, "name", "")
        return ARRAY(Text()) if name == "postgresql" else Text()  # type: ignore[return-value]

    def process_bind_param(self, value: list[str] | None, dialect: object) -> list[str] | None:
        """One text on SQLite."""
        if value is None or getattr(dialect, "name", "") == "postgresql":
            return value
        return " ".join(value)  # type: ignore[return-value]

    def process_result_value(self, value: object, dialect: object) -> list[str] | None:
        """A list again."""
        return value.split(" ") if isinstance(value, str) else value  # type: ignore[return-value]


class RecallSpace(Stored, table=True):
    """What one owner said ("said") or is remembered for ("kept") in one scope, with the statistics of these rows alone.

    `docs` rows of `tokens` words in `sessions` groups; `pairs` as in `agent_core/storage/postings.py`.
    """

    __tablename__ = "recall_space"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("owner", "scope", "corpus", name="recall_space_owner"),)

    no: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    scope: str
    corpus: str
    docs: int = 0
    tokens: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))
    sessions: int = 0
    pairs: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))


class RecallGroup(Stored, table=True):
    """A session (or a part of a long one), or one memory: `ref` is the session's or the memory's id.

    `tokens` counts words. `around` has a number for each row: the words of the row and its two neighbours on each side,
    and what else is known of it (`agent_core/storage/postings.py`).
    """

    __tablename__ = "recall_group"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        UniqueConstraint("space", "ref", "part", name="recall_group_ref"),
        Index("recall_group_of", "ref"),
    )

    no: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    space: int = Field(sa_column=Column(BigInteger, ForeignKey("recall_space.no"), nullable=False))
    ref: str
    part: int = 0
    docs: int = 0
    tokens: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))
    around: bytes = Field(default=b"", sa_column=Column(LargeBinary, nullable=False))


class RecallDoc(Stored, table=True):
    """One indexed row. `seq` is its place in the transcript, 0 for a memory."""

    __tablename__ = "recall_doc"  # pyright: ignore[reportAssignmentType]

    id: int = Field(sa_column=Column(BigId, primary_key=True, autoincrement=False))
    seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    terms: list[str] = Field(sa_column=Column(Words, nullable=False))


class RecallMark(Stored, table=True):
    """How far a session's transcript is indexed."""

    __tablename__ = "recall_mark"  # pyright: ignore[reportAssignmentType]

    session_id: str = Field(
        sa_column=Column(Text, ForeignKey("session.id"), primary_key=True, nullable=False)
    )
    seq: int = Field(sa_column=Column(BigInteger, nullable=False))


POSTGRES_UP = ("create index recall_doc_terms on recall_doc using gin (terms)",)

_DOC = RecallDoc.__table__  # type: ignore[attr-defined]


def _attach(when: str, dialect: str, statements: tuple[str, ...]) -> None:
    for statement in statements:
        ddl = DDL(statement)  # type: ignore[no-untyped-call]
        event.listen(_DOC, when, ddl.execute_if(dialect=dialect))


_attach("after_create", "sqlite", SQLITE_UP)
_attach("after_create", "postgresql", POSTGRES_UP)
_attach("before_drop", "sqlite", SQLITE_DOWN)
