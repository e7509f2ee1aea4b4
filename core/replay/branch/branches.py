"""The branches of one recording, kept in a small file as soon as they are made.

The file is written anew with every change, whole or not at all, so a crash leaves the
branches of before or of after it. It is read anew right before, under a lock, so that
a command line and a window beside each other don't take each other's branches away.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from psygnal import Signal

from isoscope.core.errors import ReadError, UsageError, WriteError
from isoscope.core.exclusive import exclusive
from isoscope.core.newfile import new_file
from isoscope.core.replay.branch.model import (
    Branch,
    check_branch,
    check_name,
    new_branch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.model import Edit

SCHEMA = "isoscope.branches/1"
DOING = "reading the branches"
CALLED = "what if"  # and a number
MOST = 1000  # of one recording
BIGGEST_BYTES = 64 << 20


class Kept(msgspec.Struct, frozen=True):
    """The file."""

    schema: str
    source: str
    file: str  # for people who look into it
    branches: list[Branch]


def source_of(examined: Examined) -> str:
    """What a labelled recording is known by, wherever it lies: 32 hexadecimal digits.

    A hash of the run's own number and the file's; a repaired or rewritten copy is
    another recording.

    Raises
    ------
    UsageError
        For a recording that is no labelled one.
    """
    labelled = examined.recording.labelled
    if labelled is None:
        raise UsageError(
            f"branching from {examined.file}: it is a bare recording, without "
            "snapshots and control inputs; record with the tap, which takes snapshots"
        )
    return _hash(labelled.attributes)


def _hash(attributes: Mapping[str, str]) -> str:
    told = "\n".join(str(attributes.get(name, "")) for name in ("run", "written"))
    return hashlib.sha256(told.encode()).hexdigest()[:32]


class Branches:
    """The branches of one recording.

    Parameters
    ----------
    source
        What the recording is known by.
    file
        What it is called.
    path
        Where they are kept; None keeps them in memory only.

    Raises
    ------
    ReadError
        If there is a file that can't be read, or another recording's.

    Attributes
    ----------
    changed
        Tells that there are others now.
    """

    changed = Signal()

    def __init__(self, source: str, file: str, path: str | Path | None = None) -> None:
        self.source, self.file = source, file
        self.path = None if path is None else Path(path)
        self._branches = self._read()

    def __len__(self) -> int:
        return len(self._branches)

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All of them, the oldest first."""
        return tuple(self._branches)

    def find(self, which: str) -> Branch:
        """The one of this name or id.

        Raises
        ------
        UsageError
            If there is none.
        """
        return _found(self._branches, which, self.file)

    def free_name(self) -> str:
        """A name for the next one: ``"what if 1"``, or the next that is not taken."""
        taken = {one.name for one in self._branches}
        number = 1
        while f"{CALLED} {number}" in taken:
            number += 1
        return f"{CALLED} {number}"

    def made(
        self,
        place: tuple[int, int, int, int],
        edits: tuple[Edit, ...],
        steps: int | None,
        *,
        name: str | None = None,
        past_end: Literal["hold", "zero"] = "hold",
        note: str = "",
    ) -> Branch:
        """A branch of this recording, not kept yet.

        Parameters
        ----------
        place
            Environment, episode, control step and native row that it begins with.
        edits, steps, past_end, note
            See `isoscope.core.replay.branch.model.Branch`.
        name
            None for a free one.
        """
        env, episode, control_step, native = place
        return new_branch(
            name=self.free_name() if name is None else name,
            source=self.source,
            file=self.file,
            env=env,
            episode=episode,
            control_step=control_step,
            native=native,
            edits=edits,
            steps=steps,
            past_end=past_end,
            note=note,
        )

    def add(self, branch: Branch) -> None:
        """Add a branch.

        Raises
        ------
        UsageError
            If it makes no sense, is another recording's, or its name is taken; nothing
            has changed then.
        WriteError
            If it can't be kept; nothing has changed then, either.
        """
        with self._alone():
            now = self._read()
            self._check_new(now, branch)
            self._keep([*now, branch])

    def check(self, branch: Branch) -> None:
        """Refuse what `add` would refuse, before any work is done for it.

        Raises
        ------
        UsageError
            As `add`.
        """
        self._check_new(self._read(), branch)

    def _check_new(self, now: list[Branch], branch: Branch) -> None:
        check_branch(branch)
        doing = f"adding branch {branch.name}"
        if branch.source != self.source:
            raise UsageError(f"{doing}: it is of {branch.file}, not of {self.file}")
        if any(one.id == branch.id for one in now):
            raise UsageError(f"{doing}: it is there already")
        _refuse_taken(now, branch.name, self.file)
        if len(now) >= MOST:
            raise UsageError(f"{doing}: {self.file} has {MOST} already; remove some")

    def rename(self, which: str, name: str) -> Branch:
        """Give the one of this name or id another name; returns it as it is now.

        Raises
        ------
        UsageError, WriteError
            As `add`, or if there is none.
        """
        name = name.strip()
        check_name(name)
        _found(self._read(), which, self.file)  # before there is any lock
        with self._alone():
            now = self._read()
            old = _found(now, which, self.file)
            if name != old.name:
                _refuse_taken(now, name, self.file)
            new = msgspec.structs.replace(old, name=name)
            self._keep([new if one is old else one for one in now])
        return new

    def annotate(self, which: str, note: str) -> Branch:
        """Give the one of this name or id another note; returns it as it is now.

        Raises
        ------
        UsageError, WriteError
            As `rename`.
        """
        _found(self._read(), which, self.file)  # before there is any lock
        with self._alone():
            now = self._read()
            old = _found(now, which, self.file)
            new = msgspec.structs.replace(old, note=note)
            self._keep([new if one is old else one for one in now])
        return new

    def remove(self, which: str) -> Branch:
        """Take the one of this name or id away, and return it.

        Raises
        ------
        UsageError, WriteError
            If there is none, or the others can't be kept; nothing has changed then.
        """
        _found(self._read(), which, self.file)  # before there is any lock
        with self._alone():
            now = self._read()
            old = _found(now, which, self.file)
            self._keep([one for one in now if one is not old])
        return old

    # -- the file ----------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Have the file alone, where there is one, from reading to writing it."""
        if self.path is None:
            yield
            return
        doing = f"keeping a branch in {self.path}"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise WriteError(f"{doing}: {why}") from None
        with exclusive(self.path, doing):
            yield

    def _keep(self, branches: list[Branch]) -> None:
        if self.path is not None:
            kept = Kept(SCHEMA, self.source, self.file, branches)
            content = msgspec.json.format(msgspec.json.encode(kept), indent=1)
            with new_file(self.path, overwrite=True) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        self._branches = branches
        self.changed.emit()

    def _read(self) -> list[Branch]:
        """What the file holds now; what is in memory where there is no file."""
        if self.path is None:
            return list(getattr(self, "_branches", []))
        try:
            if self.path.stat().st_size > BIGGEST_BYTES:
                raise ReadError(DOING, self.path, "it is too long for branches")
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ReadError(DOING, self.path, error.strerror or str(error)) from None
        try:
            kept = msgspec.json.decode(content, type=Kept)
            for one in kept.branches:
                check_branch(one)
        except (msgspec.DecodeError, UsageError, RecursionError) as error:
            raise ReadError(DOING, self.path, str(error)) from None
        if kept.schema != SCHEMA:
            raise ReadError(DOING, self.path, f"it is of schema {kept.schema}")
        if kept.source != self.source:
            raise ReadError(DOING, self.path, f"they are of {kept.file}")
        return kept.branches


def open_branches(examined: Examined, path: Path | None) -> tuple[Branches, str]:
    """The branches of a recording; and what should be told, where some can't be read.

    A file that can't be read is put aside, as it may be worth mending.

    Raises
    ------
    UsageError
        For a recording that is no labelled one.
    """
    source, file = source_of(examined), Path(examined.file).name
    try:
        return Branches(source, file, path), ""
    except ReadError as error:
        assert path is not None
        aside = path.with_suffix(".unreadable")
        with suppress(OSError):
            path.replace(aside)
            return Branches(source, file, path), f"{error}; it was put aside as {aside}"
        return Branches(source, file), f"{error}; new branches will not be kept"


def _found(branches: list[Branch], which: str, file: str) -> Branch:
    for one in branches:
        if which in (one.id, one.name):
            return one
    there = ", ".join(one.name for one in branches) or "none"
    raise UsageError(f"{file} has no branch {which!r}; there are: {there}")


def _refuse_taken(branches: list[Branch], name: str, file: str) -> None:
    if any(one.name == name for one in branches):
        raise UsageError(f"{file} has a branch {name!r} already; give another name")
