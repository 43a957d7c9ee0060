"""The worker's question for a job, asked as often as there may be one.

procrastinate's worker asks again after each job that it got, and mostly for nothing: one more way to the server in each
turn. It also forgets a notice that comes while it asks. So notices are counted: each stands for one job at most.
"""

from collections.abc import Iterable

from procrastinate.jobs import Job
from procrastinate.manager import JobManager


class Fetching(JobManager):
    """procrastinate's manager of jobs for one worker, which is told of each notice that a job may be there."""

    _heard = 0
    _served = False  # the last question brought a job

    def heard(self) -> None:
        """A job may be there."""
        self._heard += 1

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """The next job, or None: without a question where the last one brought what the last notice was about.

        That is believed once. What no notice told, as after a start, is found by the questions that the worker asks by
        the clock.
        """
        if self._served and not self._heard:
            self._served = False
            return None
        asked = list(queues) if queues is not None else None
        while True:
            before = self._heard
            job = await super().fetch_job(asked, worker_id)
            self._heard -= before if job is None else min(self._heard, 1)
            self._served = job is not None
            if job is not None or not self._heard:
                return job
