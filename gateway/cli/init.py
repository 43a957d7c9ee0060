"""`init`: a folder to start from. Nothing that exists is overwritten."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output import finish, out
from gateway.problems import OperatorError, Problem

FOLDERS = ("data", "presets")
# Shipped without their dots, so that no tool takes them for files of this repository.
STARTER = {
    "swarmgate.yaml": "settings.yaml",
    ".env.example": "env.example",
    ".gitignore": "gitignore",
    "presets/README.md": "presets.md",
}


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Default: this folder.")] = Path(),
) -> None:
    """Write a commented swarmgate.yaml, a presets folder, .env.example and .gitignore."""
    raise typer.Exit(finish(lambda: write(folder)))


def write(folder: Path) -> int:
    """Write all files or none. Raises OperatorError when one of them exists."""
    existing = [folder / name for name in STARTER if (folder / name).exists()]
    if existing:
        cure = "choose another folder, or move it away"
        raise OperatorError([Problem("exists already", cure, str(path)) for path in existing])
    try:
        for name in FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "data").chmod(0o700)
        for name, source in STARTER.items():
            text = (files("gateway.cli") / "starter" / source).read_text("utf-8")
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        cure = "choose a folder that you may write to"
        said = (error.strerror or "cannot be written").lower()
        raise OperatorError([Problem(said, cure, str(error.filename or folder))]) from error
    step = "" if folder == Path() else f"cd {folder} && "
    out(f"wrote {', '.join(str(folder / name) for name in STARTER)}")
    out(f"next: {step}swarmgate check && swarmgate run")
    return 0
