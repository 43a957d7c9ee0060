"""One shell command in a sandbox of bubblewrap: no network, a read-only system, one writable folder, bounded means.

The command sees /usr and its likes, its own /proc and /dev, a small /tmp and the workspace; no home, no settings, no
data of the gateway, no environment. What it starts ends with it: its process namespace dies when the time is up.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_core.tools.spec import ToolFailure

NEEDED = (0, 8)  # the version of bubblewrap from which on a sandbox cannot make further ones
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
MAPS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")
PATH = "/usr/local/bin:/usr/bin:/bin"
HOME = "/workspace"
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """Means of one command: seconds of time, bytes of memory (of each process), of a file and of /tmp, processes."""

    seconds: float = 30.0
    cpu: int = 20
    memory: int = 512 * 2**20
    file: int = 16 * 2**20
    tmp: int = 64 * 2**20
    processes: int = 64
    head: int = 6_000  # characters of the output that are kept from its beginning
    tail: int = 2_000  # ... and from its end
    output: int = 16 * 2**20  # bytes of output after which the command is ended


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended. `code` is None where it was ended; `why` then says for what. `output` is both streams."""

    code: int | None
    output: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Runs commands. `bwrap` and `prlimit` are programs of this system.

    `as_root`: run although the gateway is root, for whom the kernel bounds no number of processes.
    """

    bwrap: str
    prlimit: str
    bounds: Bounds = Bounds()
    as_root: bool = False

    @staticmethod
    def find() -> "Sandbox":
        """A sandbox of what this system has. Raises ToolFailure with the cure where something is missing."""
        bwrap, prlimit = shutil.which("bwrap"), shutil.which("prlimit")
        if bwrap is None:
            raise ToolFailure(
                "exec_command needs bubblewrap, which is missing here: the operator installs the package bubblewrap."
            )
        if prlimit is None:
            raise ToolFailure(
                "exec_command needs prlimit, which is missing here: the operator installs util-linux."
            )
        return Sandbox(bwrap, prlimit)

    async def check(self) -> None:
        """Raises ToolFailure where no command can be run, with the cure."""
        if os.geteuid() == 0 and not self.as_root:
            raise ToolFailure(
                "exec_command does not run where the gateway is root: the operator runs it as an ordinary user."
            )
        answer = await _answer_of(self.bwrap, "--version")
        found = re.search(r"(\d+)\.(\d+)", answer)
        if found is None or (int(found[1]), int(found[2])) < NEEDED:
            wanted = ".".join(map(str, NEEDED))
            raise ToolFailure(
                f"exec_command needs bubblewrap {wanted} or newer; here is {answer!r}."
            )

    def argv(self, command: str, folder: Path) -> list[str]:
        """The whole command line."""
        bounds = self.bounds
        return [
            *(self.bwrap, "--unshare-all", "--unshare-user", "--disable-userns"),
            *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL"),
            *("--die-with-parent", "--new-session", "--clearenv"),
            *("--setenv", "PATH", PATH, "--setenv", "HOME", HOME, "--setenv", "LANG", "C.UTF-8"),
            *_system(SYSTEM),
            *(word for path in MAPS for word in ("--ro-bind-try", path, path)),
            *("--proc", "/proc", "--dev", "/dev", "--size", str(bounds.tmp), "--tmpfs", "/tmp"),  # noqa: S108
            *("--bind", str(folder), HOME, "--chdir", HOME),
            *(
                "--remount-ro",
                "/dev",
                "--remount-ro",
                "/",
            ),  # both are memory that would have no bound
            *("--", self.prlimit, f"--cpu={bounds.cpu}", f"--as={bounds.memory}", "--core=0"),
            *(f"--fsize={bounds.file}", f"--nproc={bounds.processes}", "--nofile=256"),
            *("--", "/bin/sh", "-c", command),
        ]

    async def run(self, command: str, folder: Path) -> Outcome:
        """Run a command in a folder. Raises ToolFailure where the sandbox itself does not start.

        When the time is up, the output too long or the caller cancelled, all its processes are killed.
        """
        process = await asyncio.create_subprocess_exec(
            *self.argv(command, folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={},
            cwd="/",
            start_new_session=True,
        )
        kept = _Kept(self.bounds)
        why = ""
        try:
            async with asyncio.timeout(self.bounds.seconds):
                why = await kept.take(process.stdout)
                if not why:
                    await process.wait()
        except TimeoutError:
            why = f"ended after {self.bounds.seconds:g} s"
        finally:
            await _end(process)
        output = kept.text()
        if process.returncode == 1 and output.startswith("bwrap: "):
            said = " ".join(output.split())[:200]
            raise ToolFailure(
                f"The sandbox does not start ({said}). The operator allows unprivileged user namespaces."
            )
        return Outcome(None if why else process.returncode, output, why)


class _Kept:
    """The beginning and the end of an output."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    async def take(self, stream: asyncio.StreamReader | None) -> str:
        """Read to the end. Returns why it was not read to its end, "" for nothing."""
        if stream is None:
            return ""
        head, tail = (
            self._bounds.head * 4,
            self._bounds.tail * 4,
        )  # a character has up to four bytes
        while chunk := await stream.read(_CHUNK):
            self._size += len(chunk)
            room = max(0, head - len(self._head))
            self._head += chunk[:room]
            self._tail = (self._tail + chunk[room:])[-tail:]
            if self._size > self._bounds.output:
                return f"ended for more than {self._bounds.output // 2**20} MB of output"
        return ""

    def text(self) -> str:
        """What is kept, with a line for what is not."""
        if len(self._head) + len(self._tail) == self._size:
            whole = (self._head + self._tail).decode("utf-8", "replace")
            if len(whole) <= self._bounds.head + self._bounds.tail:
                return whole
            head, tail = whole[: self._bounds.head], whole[-self._bounds.tail :]
            return f"{head}\n[… {len(whole) - len(head) - len(tail)} characters left out …]\n{tail}"
        head = self._head.decode("utf-8", "replace")[: self._bounds.head]
        tail = self._tail.decode("utf-8", "replace")[-self._bounds.tail :]
        left = self._size - len(head.encode()) - len(tail.encode())
        return f"{head}\n[… about {left} bytes left out …]\n{tail}"


def _system(paths: Sequence[str]) -> list[str]:
    """The system, read-only; where a folder is a link into /usr, the same link."""
    words: list[str] = []
    for path in map(Path, paths):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    return words


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill what is left of the group; the namespace takes everything else with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(_drained(process))


async def _drained(process: asyncio.subprocess.Process) -> None:
    """Until it is gone; a pipe that nobody empties would keep its end from being seen."""
    if process.stdout is not None:
        while await process.stdout.read(_CHUNK):
            pass
    await process.wait()


async def _answer_of(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(5):
            said, _ = await process.communicate()
    finally:
        await _end(process)
    return said.decode("utf-8", "replace").strip()[:80]
