"""The settings of schedules: a run at set times, in a chat, for one person."""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from gateway.settings.fields import PersonId, Section, chat_id, fault, zone
from swarm_presets import cron


def _cron(line: str) -> str:
    try:
        cron.check(line)
    except cron.BadCron as bad:
        raise fault(str(bad), bad.cure) from bad
    return line


class Scheduled(Section):
    """One schedule.

    `cron` has five fields, in `timezone` (null: `locale.timezone`). `to` is the chat, such as "telegram:123" or, where
    several bots are on a platform, "telegram:<account>:123". `preset` null: the chat's own. `say` begins the run, as if
    `as` had written it: memory, portfolio, budgets and approvals are that person's, who must be allowed. `quiet`: a
    heartbeat, of which nothing is seen where its answer is that there is nothing to say.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=False
    )

    cron: Annotated[str, AfterValidator(_cron)]
    timezone: Annotated[str, AfterValidator(zone)] | None = None
    to: Annotated[str, AfterValidator(chat_id)]
    preset: Annotated[str, Field(min_length=1)] | None = None
    say: Annotated[str, Field(min_length=1, max_length=4_000)]
    person: Annotated[PersonId, Field(alias="as")]
    quiet: bool = False
