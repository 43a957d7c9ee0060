"""Folders and files: there where they are needed, and closed where they hold secrets."""

import stat
from collections.abc import Iterator
from pathlib import Path

from gateway.doctor.findings import Finding, fail, folder, mode, ok
from gateway.doctor.ground import Ground
from gateway.problems import Problem

READ_BY_OTHERS, WRITE_BY_OTHERS = 0o044, 0o022
PUBLIC = {"symbols.csv"}  # fetched from public lists, and read by other programs on purpose
SECRETS = {"web-secret", "console-token", "mcp-token", "control.sock"}
ENV = ".env"


def folders(ground: Ground) -> Iterator[Finding]:
    """The data and presets folders of a settings file; the embedded defaults need none before they start."""
    settings = ground.settings
    if settings.file is None:
        return
    for key in ("data_dir", "presets_dir"):
        path: Path = getattr(settings, key)
        if not path.exists():
            problem = Problem(
                "there is no such folder", "swarmgate check --fix", str(path), key=key
            )
            yield fail(f"settings.{key}", problem, folder(path))


def settings_file(ground: Ground) -> Iterator[Finding]:
    """Whoever may read secrets has them; whoever may write the settings runs commands as us."""
    file = ground.settings.file
    if file is None:
        return
    bits = file.stat().st_mode
    text = file.read_text("utf-8")
    if bits & READ_BY_OTHERS and any(secret in text for secret in ground.settings.secrets()):
        problem = Problem("holds secrets and others may read it", f"chmod 600 {file}", str(file))
        yield fail("settings.mode", problem, mode(file, 0o600))
    elif bits & WRITE_BY_OTHERS:
        problem = Problem("others may write it", f"chmod go-w {file}", str(file))
        yield fail("settings.mode", problem, mode(file, stat.S_IMODE(bits) & ~WRITE_BY_OTHERS))
    for path in (file.parent / ENV, *_written_by_operators(ground)):
        yield from _loose(path)


def _written_by_operators(ground: Ground) -> Iterator[Path]:
    settings = ground.settings
    yield from (settings.presets_dir, settings.skills_dir, settings.templates_dir)


def _loose(path: Path) -> Iterator[Finding]:
    if not path.exists():
        return
    bits = stat.S_IMODE(path.stat().st_mode)
    if path.name == ENV and bits & 0o077:
        problem = Problem("holds keys and others may read it", f"chmod 600 {path}", str(path))
        yield fail("files.env", problem, mode(path, 0o600))
    elif path.is_dir() and bits & stat.S_IWOTH:
        what = "anybody on this machine may write instructions for agents here"
        problem = Problem(what, f"chmod o-w {path}", str(path))
        yield fail("files.open", problem, mode(path, bits & ~stat.S_IWOTH))


def secrets_at_rest(ground: Ground) -> Iterator[Finding]:
    """What lies in the data folder is ours alone: conversations, the secret of cookies, the operators' token."""
    data = ground.settings.data_dir
    if not data.is_dir():
        return
    loose = list(_open_to_others(data))
    for path, bits in loose:
        problem = Problem("others may open it", f"chmod {bits:o} {path}", str(path), key="data_dir")
        yield fail("files.data", problem, mode(path, bits))
    if not loose:
        yield ok("files.data", f"what lies in {data} is closed to others")


def _open_to_others(data: Path) -> Iterator[tuple[Path, int]]:
    if data.stat().st_mode & WRITE_BY_OTHERS:
        yield data, 0o700
    for path in sorted(data.iterdir()):
        if path.is_symlink() or path.name in PUBLIC:
            continue
        found = path.stat().st_mode
        if path.is_dir() and path.name == "workspaces" and found & 0o077:
            yield path, 0o700
        elif not path.is_dir() and found & 0o077 and _holds(path):
            yield path, 0o600


def _holds(path: Path) -> bool:
    """Whether it is one of the files with secrets in it."""
    name = path.name
    return name in SECRETS or name.startswith("swarmgate.db")
