"""Who produces: who has begun, ended or been lost, and what each had put.

No locks in here; the channel sees to that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.core.channel.errors import ChannelClosedError, ChannelValueError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from isoscope.core.channel.base import Loss


@dataclass(slots=True)
class _Member:
    last_put: float
    sources: dict[Hashable, None] = field(default_factory=dict)  # a set, in order


class Members:
    """The producers of one channel.

    Parameters
    ----------
    expected
        Those that have to have been there before the stream can be over.
    """

    def __init__(self, expected: Iterable[str] = ()) -> None:
        self.losses: list[Loss] = []
        self._expected = set(expected)
        self._open: dict[str, _Member] = {}
        self._gone: set[str] = set()

    @property
    def over(self) -> bool:
        """Whether there were producers and none is left or still expected."""
        return bool(self._gone) and not self._open and not self._expected - self._gone

    def begin(self, name: str) -> None:
        """Meet a producer.

        Raises
        ------
        ChannelValueError
            If one of this name is or was there.
        """
        if name in self._open or name in self._gone:
            raise ChannelValueError(
                f"joining a channel: there is a producer {name!r} already; "
                "choose another name"
            )
        self._open[name] = _Member(time.monotonic())

    def is_open(self, name: str) -> bool:
        """Whether it has begun and not ended."""
        return name in self._open

    def refuse_gone(self, name: str) -> None:
        """Refuse what a producer sends that is not, or no longer, taking part."""
        if name not in self._open:
            raise ChannelClosedError(
                f"putting as {name!r}: this producer has ended or was given up as "
                "lost; join the channel again under another name"
            )

    def has_put(self, name: str, sources: Iterable[Hashable]) -> None:
        """Remember that a producer put an item of these sources."""
        member = self._open[name]
        member.last_put = time.monotonic()
        member.sources.update(dict.fromkeys(sources))

    def sources_of(self, name: str) -> tuple[Hashable, ...]:
        """The sources whose items a producer has put."""
        return tuple(self._open[name].sources)

    def end(self, name: str, loss: Loss | None = None) -> None:
        """A producer leaves, or was lost."""
        del self._open[name]
        self._gone.add(name)
        if loss is not None:
            self.losses.append(loss)

    def ages_s(self) -> dict[str, float]:
        """The open ones, and the seconds since each put something, or began."""
        now = time.monotonic()
        return {name: now - member.last_put for name, member in self._open.items()}
