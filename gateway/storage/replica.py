"""Which replica does what: each has a number, which an advisory lock on its standing connection says is alive."""

import secrets

from sqlalchemy import Connection, bindparam, text

REPLICAS = 0x53775202  # "Sw", an arbitrary first half of our lock keys
NOBODY = 0  # an embedded gateway, which is alone, and commands of the shell
_OPTION = "swarmgate_replica"
_ALIVE = text(
    "select objid::bigint from pg_locks where locktype = 'advisory' and granted"
    " and classid = :family and objsubid = 2"
    " and database = (select oid from pg_database where datname = current_database())"
).bindparams(bindparam("family", REPLICAS))
ALIVE = str(_ALIVE.compile(compile_kwargs={"literal_binds": True}))


def new_number() -> int:
    """A number that no living replica has, as good as certainly; it fits into half a lock key."""
    return secrets.randbelow(2**31 - 1) + 1


def options(number: int) -> dict[str, int]:
    """What an engine's connections are told, so that statements know whose they are."""
    return {_OPTION: number}


def mine(conn: Connection) -> int:
    """The number of the process that this connection is of."""
    number: int = conn.get_execution_options().get(_OPTION, NOBODY)
    return number


def alive(conn: Connection) -> set[int]:
    """The replicas that live now. PostgreSQL alone."""
    return set(conn.execute(_ALIVE).scalars())
