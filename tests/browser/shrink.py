"""Makes kept pictures small: `make pictures` takes them with a browser, this writes them where guides show them.

    python -m tests.browser.shrink FOLDER

FOLDER has one folder for each window. Pages have few colours, so a palette loses nothing that one sees.
"""

import sys
from pathlib import Path

from PIL import Image

from tests.browser.console_pages import KEPT

COLOURS = 128  # fewer would turn a single red badge grey


def shrink(source: Path, target: Path) -> int:
    """Write a picture with a palette; returns its size in bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as image:
        small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(target, optimize=True)
    return target.stat().st_size


def main(folder: Path) -> None:
    """Every picture of every window."""
    sizes = [
        shrink(picture, KEPT / picture.relative_to(folder))
        for picture in sorted(folder.glob("*/*.png"))
    ]
    sys.stdout.write(f"{len(sizes)} pictures, {sum(sizes) / 1e6:.1f} MB in {KEPT}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
