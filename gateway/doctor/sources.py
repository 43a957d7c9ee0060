"""Where prices and filings come from."""

import asyncio
from collections.abc import Iterator

from gateway.doctor.findings import Finding, fail, ok
from gateway.doctor.ground import Ground


def sources(ground: Ground) -> Iterator[Finding]:
    """What is amiss with the data sources; a live one is asked only where the operator says so."""
    from gateway.prices.source_check import source_problems

    settings = ground.settings
    found = asyncio.run(source_problems(settings, ground.clock, ask=ground.ask_sources))
    for name, problem in found:
        yield fail(f"data.sources.{name}", problem)
    if not found:
        yield ok("data.sources", ", ".join(settings.data.sources))
