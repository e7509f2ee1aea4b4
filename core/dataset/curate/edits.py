"""Edits of a choice of episodes, and what a choice is after them.

An edit names episodes by their ids, which stay with them. The choice is a fold over the
edits in their order, so that undoing is leaving the last one out. An edit that names
what isn't there, or a range outside of it, is refused before anything changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.core.dataset.model import Episode

Verdict: TypeAlias = Literal["accepted", "rejected"]


class _Edit(msgspec.Struct, frozen=True, tag_field="edit", forbid_unknown_fields=True):
    """Any edit."""


class Judge(_Edit, frozen=True, tag="judge"):
    """Accept or reject episodes; None takes a verdict back."""

    ids: tuple[str, ...]
    verdict: Verdict | None
    why: str = ""


class Tag(_Edit, frozen=True, tag="tag"):
    """Give episodes a tag, or take it away."""

    ids: tuple[str, ...]
    tag: str
    on: bool = True


class Trim(_Edit, frozen=True, tag="trim"):
    """Keep control steps start .. stop of an episode as it is now, half open."""

    id: str
    start: int
    stop: int


class Split(_Edit, frozen=True, tag="split"):
    """Make two of an episode: its first `at` control steps, and the rest."""

    id: str
    at: int


Edit: TypeAlias = Judge | Tag | Trim | Split


@dataclass(frozen=True, slots=True)
class Item:
    """An episode of the choice.

    Attributes
    ----------
    id
        Its own; the source's where nothing was split.
    source
        Index of the episode in the source.
    start, stop
        Control steps of the source's episode that it has, half open.
    """

    id: str
    source: int
    start: int
    stop: int
    verdict: Verdict | None = None
    why: str = ""
    tags: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Control steps."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Choice:
    """All episodes with what was decided of them, in the source's order."""

    items: tuple[Item, ...]
    _places: dict[str, int] = field(default_factory=dict, repr=False)

    @classmethod
    def all_of(cls, episodes: Sequence[Episode]) -> Choice:
        """Before any edit: everything, undecided."""
        return cls._of(Item(e.id, e.index, 0, e.length) for e in episodes)

    @classmethod
    def _of(cls, items: Iterable[Item]) -> Choice:
        items = tuple(items)
        return cls(items, {item.id: at for at, item in enumerate(items)})

    def find(self, id: str) -> Item:
        """The item of this id.

        Raises
        ------
        UsageError
            If there is none.
        """
        at = self._places.get(id)
        if at is None:
            raise UsageError(
                f"there is no episode {id!r}; there are {len(self.items)}"
                + (f", from {self.items[0].id!r} on" if self.items else "")
            )
        return self.items[at]

    @property
    def kept(self) -> tuple[Item, ...]:
        """What is not rejected and has a control step left."""
        return tuple(i for i in self.items if i.verdict != "rejected" and i.length)

    def after(self, edit: Edit) -> Choice:
        """The choice after one more edit.

        Raises
        ------
        UsageError
            If it can't be done; this choice stays as it is.
        """
        if isinstance(edit, Judge):
            return self._changed(edit.ids, verdict=edit.verdict, why=edit.why)
        if isinstance(edit, Tag):
            return self._tagged(edit)
        item = self.find(edit.id)
        if isinstance(edit, Trim):
            if not 0 <= edit.start < edit.stop <= item.length:
                raise UsageError(
                    f"episode {item.id!r} has {item.length} control steps; "
                    f"{edit.start} .. {edit.stop} is no range of them"
                )
            start = item.start + edit.start
            cut = replace(item, start=start, stop=item.start + edit.stop)
            return self._with(item.id, [cut])
        if not 0 < edit.at < item.length:
            raise UsageError(
                f"episode {item.id!r} has {item.length} control steps and can't be "
                f"split after {edit.at}"
            )
        middle = item.start + edit.at
        names = [f"{item.id}/a", f"{item.id}/b"]
        taken = [name for name in names if name in self._places]
        if taken:
            raise UsageError(f"there is an episode {taken[0]!r} already")
        first = replace(item, id=names[0], stop=middle)
        return self._with(item.id, [first, replace(item, id=names[1], start=middle)])

    def _changed(
        self, ids: Sequence[str], *, verdict: Verdict | None, why: str
    ) -> Choice:
        items = list(self.items)
        for id in ids:
            at = self._places[self.find(id).id]
            items[at] = replace(items[at], verdict=verdict, why=why)
        return Choice(tuple(items), self._places)

    def _tagged(self, edit: Tag) -> Choice:
        if not edit.tag.strip():
            raise UsageError("a tag needs at least one letter")
        items = list(self.items)
        for id in edit.ids:
            at = self._places[self.find(id).id]
            tags = {*items[at].tags, edit.tag}
            if not edit.on:
                tags.discard(edit.tag)
            items[at] = replace(items[at], tags=tuple(sorted(tags)))
        return Choice(tuple(items), self._places)

    def _with(self, id: str, new: list[Item]) -> Choice:
        at = self._places[id]
        return Choice._of([*self.items[:at], *new, *self.items[at + 1 :]])
