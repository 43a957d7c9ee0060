"""Linux: the kernel wakes the event loop when something happens to a path or in it. No thread waits, and no timer.

A series has timers while it goes on. Watched are the folder with those in it, also through links, and the names by
which it is reached: a link on the way that is put elsewhere (as a mounted ConfigMap does it), or the folder itself that
is made, removed or changed for another one.
"""

import asyncio
import errno
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from asyncinotify import Event, Inotify, Mask

# A name in a folder comes, goes or stands for something else. What is written to the files there is not told, so a
# folder with a database in it costs nothing.
_NAMES = Mask.CREATE | Mask.MOVED_FROM | Mask.MOVED_TO | Mask.DELETE
_GONE = Mask.DELETE_SELF | Mask.MOVE_SELF
_ALL = _NAMES | _GONE | Mask.MODIFY | Mask.CLOSE_WRITE | Mask.ATTRIB
_LOST = _GONE | Mask.UNMOUNT | Mask.Q_OVERFLOW
# Gone meanwhile, a link to something else, or nothing that could be read.
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES}
_LINKS = 40  # as many as the kernel follows in one path (path_resolution(7))


class Told:
    """What the kernel tells of a path, from the moment that this is made, which blocks."""

    def __init__(self, path: Path, ignored: tuple[str, ...] = ()) -> None:
        self._ignored = ignored
        self._inotify = Inotify()
        self._names: defaultdict[int, set[str]] = defaultdict(set)
        self._whole: set[int] = set()
        try:
            self._watch(path)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it."""
        self._inotify.close()

    async def series(self, quiet_s: float, most_s: float) -> None:
        """Return once something has happened, and then nothing for so long; `most_s` after the first at most."""
        await self._next()
        now = asyncio.get_running_loop().time
        last = now() + most_s
        try:
            async with asyncio.timeout(min(quiet_s, most_s)) as rest:
                while True:
                    await self._next()
                    rest.reschedule(min(now() + quiet_s, last))
        except TimeoutError:
            return

    async def _next(self) -> None:
        while not self._counts(await self._inotify.get()):
            pass

    def _counts(self, event: Event) -> bool:
        if event.name is None or event.watch is None:  # of a folder itself, or of none
            return bool(event.mask & _LOST)
        name = str(event.name)
        if event.watch.wd in self._whole and not name.endswith(self._ignored):
            return True
        return name in self._names[event.watch.wd]

    def _watch(self, path: Path) -> None:
        while not self._reach(path):
            pass  # it was made or removed just now
        if path.is_dir():
            self._enter(path)

    def _reach(self, path: Path) -> bool:
        """Watch the names by which it is reached; false where they became others meanwhile."""
        way = list(_way(path))
        for folder, name in way:
            try:
                self._names[self._inotify.add_watch(folder, _NAMES | _GONE).wd].add(name)
            except PermissionError:
                continue  # that one can go through a folder is enough to read what is in it
            except (FileNotFoundError, NotADirectoryError):
                return False
        return way == list(_way(path))

    def _enter(self, top: Path) -> None:
        todo = [str(top)]
        while todo:
            folder = todo.pop()
            try:  # watched first, listed then: a folder that comes meanwhile is told
                number = self._inotify.add_watch(folder, _ALL | Mask.ONLYDIR).wd
                if number in self._whole:
                    continue  # each folder has one number in the kernel: links in a circle end here
                self._whole.add(number)
                with os.scandir(folder) as entries:
                    todo += [e.path for e in entries if e.is_symlink() or e.is_dir()]
            except OSError as error:
                if error.errno not in _NO_FOLDER:
                    raise


def _way(path: Path) -> Iterator[tuple[Path, str]]:
    """The names by which a path is reached, each with its folder: the end, or what is next to it, and links."""
    todo = [path]
    for _ in range(_LINKS):
        if not todo:
            return
        here = todo.pop()
        yield next((part.parent, part.name) for part in _upwards(here) if part.parent.is_dir())
        for part in _upwards(here):
            try:
                todo.append(part.parent / part.readlink())
            except OSError:
                continue  # no link
            yield part.parent, part.name


def _upwards(path: Path) -> tuple[Path, ...]:
    return (path, *path.parents)
