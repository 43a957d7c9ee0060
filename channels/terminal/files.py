"""Files of replies, saved where a person finds them."""

import re
from pathlib import Path

_UNSAFE = re.compile(r"[^\w.() +-]+")


def save(folder: Path, name: str, data: bytes) -> Path:
    """Write a file into `folder` (made if missing) and return its path.

    The name is the platform's: it never leaves the folder, and a different file of that name is kept. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    safe = _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ") or "file"
    path = folder / safe[-120:]
    number = 1
    while True:
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            if path.is_file() and path.read_bytes() == data:
                return path
        else:
            return path
        number += 1
        path = folder / f"{Path(safe[-120:]).stem}-{number}{Path(safe).suffix}"
