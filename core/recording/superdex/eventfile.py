"""One recording's file: opened as well as it can be, its events read one by one.

A sound file is opened here, and plain values are read here. What may crash the HDF5
library is read by another process (:mod:`.apart`): values that are not plain, all that
needs the slow way, and every file that the library does not open by itself.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Protocol

import h5py
import numpy as np

from isoscope.core.errors import ReadError
from isoscope.core.natural import naturally
from isoscope.core.recording.model import Problem
from isoscope.core.recording.superdex.apart.process import Apart, ApartError, Deaths
from isoscope.core.recording.superdex.diagnosis import condition
from isoscope.core.recording.superdex.h5walk import (
    H5_ERRORS,
    NotPlainError,
    plain_error,
    read_event,
)
from isoscope.core.recording.superdex.listing import Listing, list_events
from isoscope.core.recording.superdex.values import plain_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from isoscope.core.recording.model import Severity
    from isoscope.core.recording.source import Cancel
    from isoscope.core.recording.superdex.apart.wire import Told
    from isoscope.core.recording.superdex.diagnosis import Condition
    from isoscope.core.recording.superdex.events import Event
    from isoscope.core.recording.tracks import Int64Array

_NAMES_SHOWN = 5
# Numbers tried by name, one after the other, before the file's list is looked at.
_MAX_MISSES = 16


class Tell(Protocol):
    """Called with what is odd or lost: a message, a place in the file."""

    def __call__(
        self, message: str, where: str, severity: Severity = "warning"
    ) -> None:
        """List it."""
        ...


class EventFile:
    """A recording's file.

    Parameters
    ----------
    path
        The file; opened read-only and without a lock.

    Attributes
    ----------
    count
        How many events there are, or how many the file says there are until they are
        listed.
    listing
        The list of events with addresses, once there is one; None where this process
        must not read the file (it is damaged, or somebody is writing it).
    events
        The group of events, or None likewise.
    writer
        The program that has it open for writing, or None.
    problems
        What was wrong on opening, or in the list of events.

    Raises
    ------
    ReadError
        If nothing in it can be read as a recording.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.writer: str | None = None
        self.problems: list[Problem] = []
        self.events: h5py.Group | None = None
        self.listing: Listing | None = None
        self._numbers: Int64Array | None = None
        self._listing_lock = threading.Lock()
        self._reading = threading.Lock()  # not closed in the middle of an event
        self._file: h5py.File | None = None
        self._apart: Apart | None = None  # for reading one after the other
        self._single: Apart | None = None  # for random access meanwhile
        self._mode = "plain"
        self._deaths = Deaths()
        # Kept open for children, should the path lead elsewhere by then.
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    # -- opening --------------------------------------------------------------------

    def _open(self) -> None:
        library = self._open_here()
        state = condition(self.path, thorough=bool(library))
        if library or state.writer is not None:
            self._close_here()
            self._open_apart(state, library)
        if not self.count:
            raise self._empty()

    def _open_here(self) -> str:
        """Open it in this process; returns what the library said if it can't."""
        try:
            self._file = file = h5py.File(self.path, "r", locking=False)
            # A name that is not UTF-8 comes as bytes.
            names = [plain_name(name) for name in file]
            if "events" in names:
                link = file.get("events", getlink=True)
                found = file["events"] if isinstance(link, h5py.HardLink) else None
        except H5_ERRORS as error:
            return plain_error(error)
        if "events" not in names:
            raise self._other(f"it has no group /events, but {_some(names)}")
        if not isinstance(found, h5py.Group):
            raise self._other("its /events is no group")
        try:
            self.count = found.id.get_num_objs()
        except H5_ERRORS as error:
            return plain_error(error)
        self.events = found
        return ""

    def _empty(self) -> ReadError:
        return ReadError(
            "opening",
            self.path,
            "the recording is empty: it has not one event",
            where="/events",
            remedy="step the scene while recording",
        )

    def _other(self, what: str) -> ReadError:
        return ReadError(
            "opening",
            self.path,
            f"HDF5, but of other content: {what}",
            remedy="a recording of SuperDex has its events there",
        )

    def _open_apart(self, state: Condition, library: str) -> None:
        """Open it in another process, in the first mode that works."""
        self.problems.clear()
        self.writer = state.writer
        try:
            self._apart = self._child(_modes(state, sound=not library), listing=True)
        except ApartError as error:
            problem = state.problem(library or str(error))
            raise ReadError(
                "opening", self.path, problem, remedy=state.remedy()
            ) from None
        self._mode = self._apart.mode
        library = library or self._apart.refused
        if state.writer is not None:
            what = f"{state.writer} is still writing it: read as far as it is written"
            self.problems.append(Problem(what))
        elif library:
            what = f"{state.problem(library)}; read what is left"
            self.problems.append(Problem(what, severity="error"))
        self._tell_list(self._apart.told)
        self._numbers = np.array(self._apart.numbers, np.int64)
        self.count = len(self._numbers)

    def _child(self, modes: list[str], *, listing: bool = False) -> Apart:
        return Apart(self.path, modes, self._deaths, self._descriptor, listing)

    def _tell_list(self, told: list[tuple[str, str, int]]) -> None:
        for message, where, count in told:
            self.problems.append(Problem(message, where, count, "error"))

    # -- the list of events ---------------------------------------------------------

    @property
    def numbers(self) -> Int64Array:
        """int64 [E]: the numbers of its events, ascending; see `listed`."""
        return self.listed()

    def listed(self, stops: Cancel | None = None) -> Int64Array:
        """The numbers of its events, ascending, int64 [E].

        Listed when first asked for, which takes some seconds for a million. A list
        that turns out to be damaged is read in another process.

        Raises
        ------
        ReadError
            If it can't be read.
        CancelledError
            If `stops` said so.
        """
        with self._listing_lock:
            if self._numbers is None:
                self._list(stops)
            if self._numbers is None or not len(self._numbers):
                raise self._empty()
            return self._numbers

    def _list(self, stops: Cancel | None) -> None:
        if self.events is None:
            raise ReadError("listing the events of", self.path, "it is closed")
        try:
            listing = list_events(self.events.id, stops)
        except H5_ERRORS as error:
            self._close_here()
            state = condition(self.path, thorough=True)
            self._open_apart(state, plain_error(error))
            return
        self.listing = listing
        self._tell_list(listing.told)
        self.count = len(listing.numbers)
        self._numbers = listing.numbers

    def numbers_from(self, start: int) -> Iterator[int]:
        """The numbers from this one on, without listing them all if that can be.

        Raises
        ------
        ReadError
            If they have to be listed and can't be.
        """
        misses = 0
        while self._numbers is None and misses < _MAX_MISSES and start < self.count:
            if self._exists(start):
                yield start
            else:
                misses += 1
            start += 1
        numbers = self.numbers
        for number in numbers[np.searchsorted(numbers, start) :]:
            yield int(number)

    def _exists(self, number: int) -> bool:
        if self.events is None:
            return False
        try:
            return bool(self.events.id.links.exists(str(number).encode()))
        except H5_ERRORS:
            return False

    # -- reading --------------------------------------------------------------------

    def event(self, number: int, tell: Tell) -> Event | None:
        """Read one event by random access; None, and told, if it can't be.

        Raises
        ------
        ReadError
            If another process is needed and can't read it either.
        """
        try:
            return self.plain_event(number, tell)
        except NotPlainError:
            pass
        try:
            if self._single is None:
                self._single = self._child([self._mode])
            for _, event, told in self._single.read([number]):
                _pass_on(told, tell)
                return event
        except ApartError as error:
            raise ReadError(
                "reading", self.path, str(error), where=_at(number)
            ) from None
        return None

    def plain_event(self, number: int, tell: Tell) -> Event | None:
        """Read one event in this process; None, and told, if it can't be.

        Raises
        ------
        NotPlainError
            If it has to be read in another one.
        """
        with self._reading:
            if self.events is None:
                raise NotPlainError
            lost = partial(tell, severity="error")
            return read_event(self.events, number, tell, lost=lost, plain_only=True)

    def each(
        self,
        numbers: Sequence[int] | Int64Array,
        tell: Tell,
        cancelled: Cancel | None = None,
    ) -> Iterator[tuple[int, Event | None]]:
        """Read events the slow, safe way: number, and the event or None (and told).

        Stops early where `cancelled` says so.

        Raises
        ------
        ReadError
            If they can't be read on.
        """
        try:
            if self._apart is None:
                self._apart = self._child([self._mode])
            for number, event, told in self._apart.read(numbers, cancelled):
                _pass_on(told, tell)
                yield number, event
        except ApartError as error:
            raise ReadError("reading the events of", self.path, str(error)) from None

    def _close_here(self) -> None:
        with self._reading:
            self.events = self.listing = None
            if self._file is not None:
                self._file.close()
                self._file = None

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        self._close_here()
        for apart in (self._apart, self._single):
            if apart is not None:
                apart.close()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _modes(state: Condition, *, sound: bool) -> list[str]:
    """Ways to open the file in another process, the best first."""
    modes = ["plain"] if sound else []
    if state.block is None:
        return modes
    if state.block.marked_as_written:
        modes.append("swmr")
    if state.rooted:
        modes.append("overlay")
    return [*modes, "salvage"]


def _pass_on(told: list[Told], tell: Tell) -> None:
    for message, where, lost in told:
        tell(message, where, "error" if lost else "warning")


def _at(number: int) -> str:
    return f"/events/{number}"


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in naturally(names)[:_NAMES_SHOWN])
    if len(names) > _NAMES_SHOWN:
        return f"{shown} and {len(names) - _NAMES_SHOWN} more"
    return shown or "nothing at all"
