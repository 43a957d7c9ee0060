"""The whole way at a desk, on three platforms in two languages: `python -m tests.pictures.desk [FOLDER]`.

Research, backtest, plan, approval, order and portfolio, as scripted in tests/scenario/desk.py.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.pictures.bubbles import Scene
from tests.pictures.page import LOOKS, page
from tests.pictures.render import Camera, photograph
from tests.scenario.desk import PRESET, WALKS, Language, Walk, script
from tests.scenario.platforms import Platforms, platforms

PATIENCE_S = 90.0


async def walked(stage: Platforms, language: Language) -> list[Scene]:
    """Every step on every platform, each as a scene of the messages that it brought."""
    camera, walk = Camera(stage), WALKS[language]
    assert stage.model is not None
    for pattern, turns in script(walk).items():
        stage.model.reply_to(pattern, turns)
    for rig in stage.rigs.values():
        await rig.say(f"/language {language}")
    await stage.until(lambda: all(rig.visible() for rig in stage.rigs.values()), PATIENCE_S)
    await stage.settled()
    steps = {
        "1-research": (walk.research.asks, walk.research.answer),
        "2-backtest": (walk.backtest.asks, walk.backtest.later),
        "3-order": (walk.order.asks, ""),
        "4-portfolio": (walk.portfolio.asks, walk.portfolio.answer),
    }
    for name, (asks, ends) in steps.items():
        since = {name: len(camera.place(name)) for name in LOOKS}
        for rig in stage.rigs.values():
            await rig.say(asks)
        if ends:
            await _shown(stage, ends)
        else:
            await _ordered(stage, camera, walk, language, since)
        await stage.until(lambda: not stage.open_rows(), PATIENCE_S)
        _shoot(camera, f"{language}-{name}", since)
    return camera.scenes


async def _ordered(
    stage: Platforms, camera: Camera, walk: Walk, language: str, since: dict[str, int]
) -> None:
    def asked() -> bool:
        return all(
            any(walk.approve in m.buttons for m in rig.visible()) for rig in stage.rigs.values()
        )

    await stage.until(asked, PATIENCE_S)
    _shoot(camera, f"{language}-3-approval", since)
    for rig in stage.rigs.values():
        await rig.press(walk.approve)
    await _shown(stage, walk.order.answer)


async def _shown(stage: Platforms, words: str) -> None:
    plain = words.replace("*", "")[:20]
    await stage.until(
        lambda: all(
            any(plain in m.text.replace("*", "") for m in rig.visible())
            for rig in stage.rigs.values()
        ),
        PATIENCE_S,
    )


def _shoot(camera: Camera, what: str, since: dict[str, int]) -> None:
    for name in LOOKS:
        found = camera.place(name)[since[name] :]
        camera.scenes.append(Scene(name, what, f"{name} · {what}", found))


async def _all() -> list[Scene]:
    scenes: list[Scene] = []
    for language in WALKS:
        with tempfile.TemporaryDirectory() as room:
            async with platforms(Path(room), preset=PRESET) as stage:
                try:
                    await stage.start()
                    scenes += await walked(stage, language)
                except BaseException:
                    print(stage.gateway.log())
                    raise
    return scenes


def main() -> None:
    """Write the pages and the pictures into a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for scene in asyncio.run(_all()):
        file = folder / f"{scene.platform}-{scene.name}.html"
        file.write_text(page(scene), "utf-8")
        files.append(file)
    asyncio.run(photograph(files))
    print(f"{len(files)} scenes in {folder}")


if __name__ == "__main__":
    main()
