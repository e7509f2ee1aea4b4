"""The process that libhdf5 may crash: opens the file in a given mode, reads events.

Started by :mod:`isoscope.core.recording.superdex.apart.process`; speaks frames on its
standard input and output, and leaves without tidying up, since the library may be in
any state by then.

Modes
-----
plain
    As any program opens it.
swmr
    Along with a writer that allows readers (single writer, multiple readers).
overlay
    With the true length and no write mark in its superblock.
salvage
    Through made-up groups, by the events found among its bytes.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import h5py
import numpy as np

from isoscope.core.recording.superdex.apart import wire
from isoscope.core.recording.superdex.apart.overlay import Overlay
from isoscope.core.recording.superdex.apart.salvage import (
    GROUP_LINKS,
    find_events,
    made_up_groups,
)
from isoscope.core.recording.superdex.h5walk import H5_ERRORS, plain_error, read_event
from isoscope.core.recording.superdex.listing import list_events, missing
from isoscope.core.recording.superdex.superblock import parse

if TYPE_CHECKING:
    from collections.abc import Callable

if sys.platform != "win32":
    import resource

HEAD_BYTES = 4096
OPENING = 3  # times the processor time of one object: a million events are listed


class RefusedError(Exception):
    """The file can't be opened in this mode; the message says why."""


class Opening:
    """The file, opened in a mode: its event numbers, and which group has which event.

    Raises
    ------
    RefusedError
        If it can't be opened so.
    """

    def __init__(self, path: str, mode: str, listing: bool) -> None:
        self.numbers: list[int] = []
        self.told: list[tuple[str, str, int]] = []
        self._groups: list[h5py.Group] = []
        self._group_of: dict[int, int] = {}
        try:
            if mode == "salvage":
                self._salvage(path)
            else:
                self._open(path, mode, listing)
        except H5_ERRORS as error:
            raise RefusedError(plain_error(error)) from None

    def _open(self, path: str, mode: str, listing: bool) -> None:
        if mode == "overlay":
            file = h5py.File(Overlay(path, _root(path)), "r")
        else:
            file = _file(path, swmr=mode == "swmr")
        events = file["events"]
        if not isinstance(events, h5py.Group):
            raise RefusedError("/events is no group")
        self._groups = [events]
        if listing:
            found = list_events(events.id)
            self.numbers = found.numbers.tolist()
            self.told = found.told

    def _salvage(self, path: str) -> None:
        found = find_events(path)
        if not found.events:
            raise RefusedError("no list of events is left in it")
        content, root = made_up_groups(found.events, os.path.getsize(path))
        file = h5py.File(Overlay(path, root, content), "r")
        self.numbers = sorted(found.events)
        self._groups = [
            file[str(i)] for i in range(-(-len(self.numbers) // GROUP_LINKS))
        ]
        self._group_of = {n: i // GROUP_LINKS for i, n in enumerate(self.numbers)}
        self.told = missing(np.array(self.numbers))
        if found.counted:
            what = "event is in no list that is left: numbered by where it lies"
            self.told.append((what, "", found.counted))

    def read(
        self, number: int, careful: bool, beat: Callable[[], None]
    ) -> wire.EventRead:
        """Read one event; never raises for damage."""
        told: list[wire.Told] = []
        event = read_event(
            self._groups[self._group_of.get(number, 0)],
            number,
            lambda what, where: told.append((what, where, False)),
            lost=lambda what, where: told.append((what, where, True)),
            careful=careful,
            beat=beat,
        )
        return wire.pack(number, event, told)


def _file(path: str, swmr: bool) -> h5py.File:
    if os.path.exists(os.path.realpath(path)):
        return h5py.File(path, "r", locking=False, swmr=swmr)
    # An inherited descriptor of a file whose name is gone: the library wants a name.
    return h5py.File(io.FileIO(path), "r")


def _root(path: str) -> int:
    with open(path, "rb") as file:
        block = parse(file.read(HEAD_BYTES))
    if block is None:
        raise RefusedError("its superblock is damaged")
    return block.root


def main() -> None:
    """Serve requests until the other side goes away."""
    requests = sys.stdin.buffer
    # Whatever prints into standard output must not get among the frames.
    answers = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    opening: Opening | None = None
    beat = partial(_limit_time, 1.0)
    while (content := wire.receive(requests)) is not None:
        message = wire.request(content)
        if isinstance(message, wire.Open):
            beat = partial(_limit_time, message.cpu_s)
            _limit_memory(message.memory_bytes)
            _limit_time(OPENING * message.cpu_s)
            try:
                opening = Opening(message.path, message.mode, message.listing)
            except (RefusedError, MemoryError) as error:
                wire.send(answers, wire.Failed(str(error) or "out of memory"))
                continue
            numbers = wire.numbers_to_bytes(opening.numbers)
            wire.send(answers, wire.Opened(numbers, opening.told))
        elif opening is not None:
            for number in wire.numbers_from_bytes(message.numbers):
                beat()
                wire.send(answers, opening.read(number, message.careful, beat))


def _limit_memory(size: int) -> None:
    if sys.platform != "win32":
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(seconds: float) -> None:
    """End this process if the next call takes more processor time than this."""
    if sys.platform != "win32":
        # The signal is not handled, so it ends the process wherever it is.
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
    os._exit(0)
