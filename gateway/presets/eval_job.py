"""One case of a preset in a process of its own, where it takes no time from the gateway's event loop."""

import asyncio

from gateway.presets.evals import Runner, Verdict, cassette_of
from gateway.problems import OperatorError
from gateway.settings.settings import Settings
from swarm_presets.schema_flow import CasePart


def run_case(settings: Settings, preset: str, file: str, model: str, case: CasePart) -> Verdict:
    """The case's verdict; see `Runner`. `file` is the preset's own, beside which its recordings lie."""
    try:
        cassette = cassette_of(settings, preset, file)
    except OperatorError as e:
        return Verdict(preset, case.name, model, tuple(map(str, e.problems)))
    return asyncio.run(Runner(settings, preset, cassette, model).run(case))
