"""What is put off until a model answers: the form of the jobs "refresh" and "compare" (DED-3, MEM-10)."""

from agent_core.storage.memories import NewMemory
from agent_core.storage.pending import Job


def refresh_job(owner: str, scope: str, session_id: str) -> Job:
    """Look whether the layers above are to be made anew; `session_id` pays for it."""
    return Job(owner, "refresh", {"session": session_id}, scope)


def compare_job(new: NewMemory) -> Job:
    """Ask a model whether this is known already (DED-3)."""
    body = {
        "kind": new.kind,
        "text": new.text,
        "source": new.source,
        "codes": list(new.codes),
        "credibility": new.credibility,
        "topic_key": new.topic_key,
        "meta": new.meta,
    }
    return Job(new.owner, "compare", body, new.scope)


def memory_of(job: Job) -> NewMemory:
    """What a "compare" job is about."""
    body = job.body
    return NewMemory(
        job.owner,
        body["kind"],
        body["text"],
        body["source"],
        job.scope,
        tuple(body["codes"]),
        body["credibility"],
        body["topic_key"],
        body["meta"],
    )
