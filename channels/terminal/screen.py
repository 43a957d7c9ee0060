"""A chat on a real terminal: replies as they are made, a line for each step, files saved to a folder.

Where the output is no terminal (a pipe, a file) it is plain: final messages only, as Markdown, without colour.
"""

import asyncio
import re
from pathlib import Path
from typing import Literal, TextIO

from channels.markdown import to_plain
from channels.terminal.files import save
from channels.types import Attachment, Button, Outbound, Preview, Step, without_dialogs

Language = Literal["en", "zh"]

_TEXTS = {
    "saved": {"en": "saved: {}", "zh": "已保存：{}"},
    "unsaved": {"en": "{} could not be saved: {}", "zh": "无法保存 {}：{}"},
    "choose": {"en": "type a number to choose", "zh": "输入数字进行选择"},
    "stop": {"en": "Ctrl-C stops the reply", "zh": "按 Ctrl-C 停止回复"},
}
# Escape sequences in a model's text must not reach the terminal.
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_SIGNS = {"running": "…", "ok": "✓", "failed": "✗"}
_DIM, _PLAIN, _ERASE = "\x1b[2m", "\x1b[0m", "\r\x1b[K"


class Screen:
    """Prints what a `TerminalClient` receives.

    Args:
        output: where to print.
        folder: where attachments are saved.
        language: of the few words that the screen says itself.
        live: show replies as they are made; by default when `output` is a terminal.
    """

    def __init__(
        self, output: TextIO, folder: Path, *, language: Language = "en", live: bool | None = None
    ) -> None:
        self._output = output
        self._folder = folder
        self._language = language
        self.live = output.isatty() if live is None else live
        self.buttons: tuple[Button, ...] = ()  # of the last message
        self.stop: Button | None = None  # of the reply in the making
        self._streamed = ""  # what of the reply stands on the screen
        self._steps: dict[str, str] = {}
        self._column = False  # the cursor stands behind text
        self._status = ""  # the line that the next output erases
        self._messages: set[str] = set()
        self._usage = ""  # of the reply in the making

    def preview(self, preview: Preview) -> None:
        """Show what is new in this state of a reply."""
        self.stop = preview.buttons[0] if preview.buttons else None
        if not self.live:
            return
        for step in preview.steps:
            self._step(step, _depth(step, preview.steps))
        self._stream(_clean(preview.text))
        self._usage = _clean(preview.usage)
        if preview.status and not self._column:
            self._show_status(_clean(preview.status))
        self._output.flush()

    async def message(self, message_id: str, out: Outbound) -> None:
        """Show a final message once; what was streamed of it is not printed again."""
        if message_id in self._messages:
            return
        self._messages.add(message_id)
        text = _clean(out.text).rstrip()
        streamed, self._streamed = self._streamed, ""
        if streamed and text.startswith(streamed.rstrip()):
            self._write(text[len(streamed.rstrip()) :] if text != streamed.rstrip() else "")
        else:
            self._end_line()
            self._write(to_plain(text) if self.live else text)
        self._end_line()
        for file in out.attachments:
            await self._save(file)
        self.buttons, self.stop = without_dialogs(out.buttons), None
        self._steps = {}
        if self._usage:
            self._write(f"{_DIM}{self._usage}{_PLAIN}")
            self._end_line()
            self._usage = ""
        self._show_buttons()
        self._output.flush()

    def line(self, text: str) -> None:
        """Print a line of its own."""
        self._end_line()
        self._write(_clean(text))
        self._end_line()
        self._output.flush()

    def prompt(self) -> None:
        """Ask for the next line; nothing where nobody looks."""
        if self.live:
            self._end_line()
            self._output.write("> ")
            self._output.flush()

    def _stream(self, text: str) -> None:
        if text == self._streamed:
            return
        if not text.startswith(self._streamed):
            self._end_line()
            self._streamed = ""
        self._write(text[len(self._streamed) :])
        self._streamed = text

    def _step(self, step: Step, depth: int) -> None:
        label = _clean(" ".join(f"{step.label} {step.detail}".split()))
        line = f"{'  ' * depth}{_SIGNS[step.state]} {label}"
        if self._steps.get(step.id) == line:
            return
        self._steps[step.id] = line
        self._end_line()
        self._streamed = ""
        self._write(f"{_DIM}{line}{_PLAIN}")
        self._end_line()

    def _show_status(self, status: str) -> None:
        hint = f" ({self._say('stop')})" if self.stop else ""
        line = status.replace("\n", " ") + hint
        if line != self._status:
            self._output.write(f"{_ERASE}{_DIM}{line}{_PLAIN}")
            self._status = line

    def _show_buttons(self) -> None:
        if not self.buttons:
            return
        labels = (f"[{number}] {_clean(b.label)}" for number, b in enumerate(self.buttons, 1))
        self._write(f"{'  '.join(labels)}  ({self._say('choose')})")
        self._end_line()

    async def _save(self, file: Attachment) -> None:
        if file.caption:
            self._write(_clean(file.caption))
            self._end_line()
        try:
            path = await asyncio.to_thread(save, self._folder, file.name, file.data or b"")
        except OSError as error:
            why = error.strerror or str(error)
            self._write(self._say("unsaved", _clean(file.name), why))
        else:
            self._write(self._say("saved", path))
        self._end_line()

    def _say(self, key: str, *values: object) -> str:
        return _TEXTS[key][self._language].format(*values)

    def _write(self, text: str) -> None:
        if not text:
            return
        if self._status:
            self._output.write(_ERASE)
            self._status = ""
        self._output.write(text)
        self._column = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._column:
            self._write("\n")


def _clean(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def _depth(step: Step, steps: tuple[Step, ...]) -> int:
    parents = {one.id: one.parent for one in steps}
    depth, parent = 0, step.parent
    while parent is not None and depth < 8:
        depth, parent = depth + 1, parents.get(parent)
    return depth
