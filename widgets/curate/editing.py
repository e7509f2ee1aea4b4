"""Edits as the panel makes them; one that can't be made changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.dataset.curate.edits import Judge, Split, Tag, Trim
from isoscope.core.errors import IsoscopeError
from isoscope.widgets.curate.places import step_at, steps_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.dataset.curate.edits import Edit, Item, Verdict
    from isoscope.core.dataset.curate.workspace import Workspace
    from isoscope.widgets.curate.places import Places
    from isoscope.widgets.session import Session


class Editing:
    """Makes edits in a workspace.

    Attributes
    ----------
    workspace
        None while there are no episodes: nothing is done then.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.workspace: Workspace | None = None

    def make(self, edit: Edit) -> bool:
        """Make an edit; whether it could be made."""
        if self.workspace is None:
            return False
        try:
            self.workspace.make(edit)
        except IsoscopeError as error:
            self._session.say("error", str(error))
            return False
        return True

    def judge(self, items: Sequence[Item], verdict: Verdict | None) -> None:
        """Give items a verdict; those that have it are left as they are."""
        ids = tuple(item.id for item in items if item.verdict != verdict)
        if ids:
            self.make(Judge(ids, verdict))

    def tag(self, items: Sequence[Item], tag: str) -> None:
        """Give items a tag; take it away if all of them have it."""
        if not items:
            return
        on = not all(tag in item.tags for item in items)
        ids = tuple(item.id for item in items if (tag in item.tags) != on)
        self.make(Tag(ids, tag, on))

    def trim(self, item: Item, places: Places, span: tuple[int, int] | None) -> None:
        """Keep what rows `span`, both ends in it, cover of an item."""
        if span is None:
            self._session.say(
                "warning",
                "Select a range first: drag with Shift in the timeline, or set the "
                "loop with [ and ].",
            )
            return
        steps = steps_within(places, item, *span)
        if steps is None:
            self._session.say(
                "warning",
                f"Native steps {span[0]:,} to {span[1]:,} cover nothing of {item.id}; "
                "nothing was trimmed.",
            )
        elif steps != (0, item.length):
            self.make(Trim(item.id, *steps))

    def split(self, item: Item, places: Places, row: int) -> None:
        """Make two of an item, the second from the control step on that `row` is in."""
        at = step_at(places, item, row)
        if not at:
            where = "not in it" if at is None else "at its first control step"
            self._session.say(
                "warning",
                f"The playhead is {where}: move it into {item.id} to split it there.",
            )
            return
        self.make(Split(item.id, at))

    def undo(self) -> None:
        """Take the last edit back; nothing if there is none."""
        if self.workspace is not None and self.workspace.can_undo:
            self._do(self.workspace.undo)

    def redo(self) -> None:
        """Make the edit again that was taken back last; nothing if there is none."""
        if self.workspace is not None and self.workspace.can_redo:
            self._do(self.workspace.redo)

    def _do(self, call: object) -> None:
        assert callable(call)
        try:
            call()
        except IsoscopeError as error:
            self._session.say("error", str(error))
