"""Jobs of the shared engine as statements on procrastinate's own table (3.10; looked at again with each update of it).

A job says "look at this conversation". There is at most one that waits (the queueing lock) and one that runs (the lock)
for each conversation. It is stored with the rows that it stands for, or after their commit. One that waits already is
locked until that commit, and what is locked is not fetched: whoever fetches a job sees the rows.
None of these functions commits.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from agent_core.storage.prepared import Prepared

QUEUE = "turns"  # what any process may run
CONNECTED = (
    "web:",
    "terminal:",
)  # their people see what the process does that they are connected to
TASK = "run_conversation"
WOKEN = "swarmgate_woken"  # channel: rows wait in the conversation that the payload names
ENDED = "swarmgate_ended"  # channel: a turn of that conversation was stopped by a person
_PLACES = 0x5377706C  # "Swpl", an arbitrary first half of our lock keys
LONGEST_HOLD_S = 60.0  # a wake-up may be lost with the process that should have given it


@dataclass(frozen=True, slots=True)
class Later:
    """A job that must not run at once: in `seconds`, or sooner.

    `failures`: steps that broke by themselves so far; only its time lets such a job run. One without any waits for a
    pot, and runs as soon as anybody wakes the conversation or a pot has room.
    """

    principal: str
    seconds: float
    failures: int = 0


def _prepared(statement: str) -> Prepared:
    return Prepared(text(statement).columns())


# People take turns: jobs of one person are two apart, and who has none yet comes right behind the first one that waits.
_DEFER = _prepared(f"""
with woken as (
  select lane, person, row_number() over (partition by person order by nth) - 1 as behind,
    queue
  from unnest(cast(:lanes as text[]), cast(:people as text[]), cast(:queues as text[]))
    with ordinality as w(lane, person, queue, nth)
), waiting as (
  select -priority as place, args->>'principal' as person from procrastinate_jobs
  where status = 'todo' and task_name = '{TASK}' and scheduled_at is null
), stored as (
insert into procrastinate_jobs (queue_name, task_name, lock, queueing_lock, priority, args)
select queue, '{TASK}', lane, lane,
  -(greatest(
    coalesce((select min(place) from waiting) + 1, 0),
    coalesce((select max(place) from waiting where waiting.person = woken.person) + 2, 0)
  ) + 2 * behind),
  jsonb_build_object('conversation_id', lane, 'principal', person)
from woken order by lane
on conflict (queueing_lock) where status = 'todo'
do update set args = procrastinate_jobs.args - 'waits', queue_name = excluded.queue_name,
  scheduled_at = case when procrastinate_jobs.args ? 'waits' then null else procrastinate_jobs.scheduled_at end
where procrastinate_jobs.args ? 'waits' or excluded.queue_name <> '{QUEUE}'
)
select pg_notify('{WOKEN}', lane) from woken
""")  # noqa: S608 - names of ours

_ALONE = _prepared("select pg_advisory_xact_lock(:family, hashtext(:person))")

_LATER = text(f"""
insert into procrastinate_jobs (queue_name, task_name, lock, queueing_lock, scheduled_at, args)
values ('{QUEUE}', '{TASK}', :lane, :lane, now() + make_interval(secs => :seconds),
  jsonb_build_object('conversation_id', cast(:lane as text), 'principal', cast(:person as text))
  || cast(:more as jsonb))
on conflict (queueing_lock) where status = 'todo'
do update set scheduled_at = excluded.scheduled_at, args = excluded.args
where excluded.args ? 'failures'
""")  # noqa: S608 - names of ours

_FREE = text(f"""
update procrastinate_jobs set scheduled_at = null, args = args - 'waits'
where status = 'todo' and task_name = '{TASK}' and scheduled_at is not null and args ? 'waits'
returning lock
""")  # noqa: S608 - names of ours

_NOTIFY = text(
    "select pg_notify(:channel, lane) from unnest(cast(:lanes as text[])) as lanes(lane)"
)

_ORPHANS = text("""
select i.conversation_id, i.author from inbox i
join (select min(id) as id from inbox where status < 2 group by conversation_id) first on first.id = i.id
where not exists (
  select 1 from procrastinate_jobs j where j.queueing_lock = i.conversation_id and j.status = 'todo'
) and not exists (
  select 1 from procrastinate_jobs j where j.lock = i.conversation_id and j.status = 'doing'
) order by i.id
""")

# Where its process has not fetched a job for a while, everybody may: it is dead, or has no slot.
_LEFT_BEHIND = text(f"""
update procrastinate_jobs j set queue_name = '{QUEUE}'
where status = 'todo' and task_name = '{TASK}' and queue_name <> '{QUEUE}' and scheduled_at is null
  and not exists (select 1 from procrastinate_jobs d where d.lock = j.lock and d.status = 'doing')
  and exists (
    select 1 from procrastinate_events e where e.job_id = j.id and e.type = 'deferred'
      and e.at < now() - make_interval(secs => :seconds)
  )
returning lock
""")  # noqa: S608 - names of ours

_UPTIME = text("select extract(epoch from now() - pg_postmaster_start_time())")
_DOING = text("select worker_id from procrastinate_jobs where id = :job and status = 'doing'")


def defer(conn: Connection, woken: Mapping[str, str], own: str = QUEUE) -> None:
    """Let conversations (id → person) be looked at, in this order for each person; whoever runs them is told.

    `own`: the queue of this process, for conversations whose people are connected to it.
    """
    if woken:
        queues = [own if lane.startswith(CONNECTED) else QUEUE for lane in woken]
        lanes = {"lanes": list(woken), "people": list(woken.values()), "queues": queues}
        _DEFER.execute(conn, lanes)


def announce(conn: Connection, lane: str, person: str, own: str) -> None:
    """`defer` for a transaction that brings rows, as its last statement.

    Of one person's transactions one at a time gets here: each sees the places that those before it have taken.
    """
    _ALONE.execute(conn, {"family": _PLACES, "person": person})
    defer(conn, {lane: person}, own)


def later(conn: Connection, jobs: Mapping[str, Later]) -> None:
    """Let conversations be looked at later; one that is to be looked at anyway waits for no pot, but for a back-off."""
    for lane in sorted(jobs):
        job = jobs[lane]
        more = f'{{"failures": {job.failures}}}' if job.failures else '{"waits": true}'
        longest = job.seconds if job.failures else min(job.seconds, LONGEST_HOLD_S)
        values = {"lane": lane, "person": job.principal, "seconds": max(longest, 0.0), "more": more}
        conn.execute(_LATER, values)


def free(conn: Connection) -> None:
    """A pot may have room: whoever waits for one tries now."""
    lanes = list(conn.execute(_FREE).scalars())
    if lanes:
        tell(conn, WOKEN, lanes)


def fetch_left_behind(conn: Connection, seconds: float) -> None:
    """What waits in the queue of another process for longer than this is for everybody."""
    lanes = list(conn.execute(_LEFT_BEHIND, {"seconds": seconds}).scalars())
    if lanes:
        tell(conn, WOKEN, lanes)


def tell(conn: Connection, channel: str, lanes: Collection[str]) -> None:
    """Notify every process, once this is committed."""
    conn.execute(_NOTIFY, {"channel": channel, "lanes": list(lanes)})


def without_job(conn: Connection) -> Sequence[tuple[str, str]]:
    """(conversation, person) with open rows that no job stands for, oldest first."""
    return [(row.conversation_id, row.author) for row in conn.execute(_ORPHANS)]


def uptime(conn: Connection) -> float:
    """For how many seconds the server has been up."""
    return float(conn.execute(_UPTIME).scalar_one())


def is_run_by(conn: Connection, job: int, worker: int | None) -> bool:
    """Whether this worker still has the job."""
    found = conn.execute(_DOING, {"job": job}).first()
    return found is not None and found.worker_id == worker
