"""The files of the repository, as git sees them; without git, as they lie there."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("agent_core", "channels", "gateway", "swarm_presets")
LEFT_OUT = {".git", ".venv", "__pycache__", "build", "dist", ".hypothesis", ".mypy_cache", "data"}


@cache
def tracked() -> tuple[Path, ...]:
    """Paths from the root, without what .gitignore names."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        names = [Path(name) for name in done.stdout.split("\0") if name]
    else:
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
        names = [name for name in names if not LEFT_OUT & set(name.parts)]
    return tuple(sorted(name for name in names if (ROOT / name).is_file()))


def python_files() -> list[Path]:
    """The Python files of the four packages."""
    return [p for p in tracked() if p.parts[0] in PACKAGES and p.suffix == ".py"]
