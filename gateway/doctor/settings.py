"""The settings as they were read, and what stops a start whatever they say."""

import sys
from collections.abc import Iterator
from importlib.metadata import version

from gateway import preflight
from gateway.doctor.findings import Finding, fail, ok, warn
from gateway.doctor.ground import Ground
from gateway.problems import Problem


def file_read(ground: Ground) -> Iterator[Finding]:
    """Which settings these are, for which version."""
    found = ".".join(map(str, sys.version_info[:3]))
    file = ground.settings.file or "the embedded defaults"
    yield ok("settings.file", f"{file}, for swarmgate {version('swarmgate')} on Python {found}")


def to_be_known(ground: Ground) -> Iterator[Finding]:
    """What will not work as it is written, or must be known."""
    for line in ground.settings.warnings:
        key, _, said = line.partition(": ")
        message, _, cure = said.partition("; ")
        yield warn(f"settings.{key}", Problem(message, cure, key=key))


def start_refused(ground: Ground) -> Iterator[Finding]:
    """What every start looks at first: Python, package names, the data folder."""
    for problem in preflight.check(ground.settings.data_dir):
        yield fail(f"preflight.{problem.key or 'environment'}", problem)
