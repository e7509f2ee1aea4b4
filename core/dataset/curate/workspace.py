"""The edits of one source with undo and redo, on disk as soon as they are made.

The file is a journal: a header line that names the source, then a line an edit, an undo
or a redo, each flushed to the disk before the edit counts. A line that a crash cut
short is left out when the file is read again. The source is never touched.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from psygnal import Signal

from isoscope.core.dataset.curate.edits import Choice, Edit
from isoscope.core.errors import ReadError, UsageError, WriteError

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episodes

SCHEMA = "isoscope.workspace/1"
DOING = "reading the workspace"
KEPT_CHOICES = 64  # others are worked out again when somebody goes back so far


class Header(msgspec.Struct, frozen=True):
    """The first line."""

    schema: str
    source: str
    episodes: int
    transitions: int


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """Any other line."""

    do: Literal["edit", "undo", "redo"]
    edit: Edit | None = None


class Workspace:
    """Edits of one source's episodes.

    Parameters
    ----------
    episodes
        The source.
    path
        The journal; made with the first edit. None keeps the edits in memory only.

    Raises
    ------
    ReadError
        If there is a journal that can't be read, or one of another source.

    Attributes
    ----------
    changed
        Tells that the choice is another one.
    """

    changed = Signal()

    def __init__(self, episodes: Episodes, path: str | Path | None = None) -> None:
        self.episodes = episodes
        self.path = None if path is None else Path(path)
        # By how many edits it is after; the beginning and the latest ones are kept.
        self._choices = {0: Choice.all_of(episodes.episodes)}
        self._edits: list[Edit] = []  # those after _at can be redone
        self._at = 0
        self.cut_short = False
        if self.path is not None and self.path.exists():
            self._load(self.path)

    @property
    def choice(self) -> Choice:
        """What is chosen now."""
        if self._at not in self._choices:
            known = max(at for at in self._choices if at < self._at)
            choice = self._choices[known]
            for at in range(known, self._at):
                choice = choice.after(self._edits[at])
            self._keep(choice)
        return self._choices[self._at]

    def _keep(self, choice: Choice) -> None:
        self._choices[self._at] = choice
        if len(self._choices) > KEPT_CHOICES:
            del self._choices[min(at for at in self._choices if at)]

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that count, oldest first."""
        return tuple(self._edits[: self._at])

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to take back."""
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        """Whether there is an edit to make again."""
        return self._at < len(self._edits)

    def make(self, edit: Edit) -> None:
        """Make an edit; what could be redone is gone then.

        Raises
        ------
        UsageError
            If it can't be made; nothing has changed then.
        WriteError
            If it can't be kept; nothing has changed then, either.
        """
        choice = self.choice.after(edit)
        self._write(Line("edit", edit))
        self._take(edit, choice)
        self.changed.emit()

    def undo(self) -> Edit:
        """Take the last edit back and return it."""
        if not self.can_undo:
            raise UsageError("there is nothing to undo")
        self._write(Line("undo"))
        self._at -= 1
        self.changed.emit()
        return self._edits[self._at]

    def redo(self) -> Edit:
        """Make the edit again that was taken back last, and return it."""
        if not self.can_redo:
            raise UsageError("there is nothing to redo")
        self._write(Line("redo"))
        self._at += 1
        self.changed.emit()
        return self._edits[self._at - 1]

    def _take(self, edit: Edit, choice: Choice) -> None:
        del self._edits[self._at :]
        self._choices = {a: c for a, c in self._choices.items() if a <= self._at}
        self._edits.append(edit)
        self._at += 1
        self._keep(choice)

    # -- the journal ------------------------------------------------------------------

    def _header(self) -> Header:
        known = self.episodes.episodes
        transitions = sum(e.length for e in known)
        return Header(SCHEMA, self.episodes.name, len(known), transitions)

    def _write(self, line: Line) -> None:
        if self.path is None:
            return
        try:
            begun = self.path.exists()
            data = msgspec.json.encode(line) + b"\n"
            if not begun:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                data = msgspec.json.encode(self._header()) + b"\n" + data
            with self.path.open("r+b" if begun else "xb") as file:
                size = file.seek(0, os.SEEK_END)
                try:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    # What came through of it must not be half a line.
                    with suppress(OSError):
                        file.truncate(size)
                    raise
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise WriteError(f"keeping an edit in {self.path}: {why}") from None

    def _load(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ReadError(DOING, path, error.strerror or str(error)) from None
        whole, _, rest = content.rpartition(b"\n")
        if rest:
            self.cut_short = True
            self._cut(path, len(whole) + bool(whole))
        lines = whole.split(b"\n") if whole else []
        if not lines:
            return
        try:
            header = msgspec.json.decode(lines[0], type=Header)
        except msgspec.DecodeError as error:
            raise ReadError(DOING, path, f"no workspace: {error}") from None
        if header != self._header():
            raise ReadError(
                DOING,
                path,
                f"it belongs to {header.source} with {header.episodes} episodes of "
                f"{header.transitions} transitions, not to {self.episodes.name}",
                remedy="give another --workspace, or the source that it was made for",
            )
        for number, line in enumerate(lines[1:], 2):
            try:
                self._replay(msgspec.json.decode(line, type=Line))
            except (msgspec.DecodeError, UsageError) as error:
                raise ReadError(
                    DOING, path, str(error), where=f"line {number}"
                ) from None

    def _replay(self, line: Line) -> None:
        if line.do == "edit":
            if line.edit is None:
                raise UsageError("an edit without what it does")
            self._take(line.edit, self.choice.after(line.edit))
        elif line.do == "undo" and self.can_undo:
            self._at -= 1
        elif line.do == "redo" and self.can_redo:
            self._at += 1
        else:
            raise UsageError(f"there is nothing to {line.do} here")

    @staticmethod
    def _cut(path: Path, size: int) -> None:
        """Take off half a line, so that the next one begins a new line."""
        with suppress(OSError):
            os.truncate(path, size)
