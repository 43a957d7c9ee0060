"""Ten thousand texts through all dialects and the splitter: to make one costs as much as to look at what became of it.

Four parts, so that workers share them.
"""

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.property import test_markdown, test_slack_mrkdwn, test_split
from tests.property.markdown_texts import TEXTS
from tests.unit.channels import test_discord_markdown

FULL = settings(max_examples=2_500, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(4))
def test_every_dialect_is_valid_and_every_part_fits(part: int) -> None:
    @seed(part)  # else all four would draw the same
    @FULL
    @given(TEXTS, test_split.LIMITS)
    def check(text: str, limit: int) -> None:
        test_split.check(text, limit)
        test_markdown.check(text)
        test_markdown.check_length(text, 150)
        test_slack_mrkdwn.check(text)
        test_slack_mrkdwn.check(text, 200)
        test_discord_markdown.check((text + "\n\n") * 4)

    check()
