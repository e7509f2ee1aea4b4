"""Where the curves' names stand at the right of a plot, and in which order; no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOLD_S = 5.0  # so long one has to have been above the other to change places


class NameOrder:
    """The order of names from the top, which changes only for what lasts.

    The curves of a run that goes on cross several times a second. Names that changed
    places as often could not be read.
    """

    def __init__(self) -> None:
        self._order: list[int] = []
        self._since: dict[tuple[int, int], float] = {}

    def forget(self) -> None:
        """Take the order that is right next time."""
        self._order, self._since = [], {}

    def order(
        self, heights: Mapping[int, float], slack_px: float, now_s: float
    ) -> list[int]:
        """The curves from the top.

        Parameters
        ----------
        heights
            Where each curve ends, by its number: pixels, downwards.
        slack_px
            Ends that are no farther apart keep the order that they have.
        now_s
            The time, by any clock that goes on.
        """
        order = [curve for curve in self._order if curve in heights]
        for curve in sorted(heights.keys() - set(order), key=lambda c: (heights[c], c)):
            below = (i for i, c in enumerate(order) if heights[c] > heights[curve])
            order.insert(next(below, len(order)), curve)
        since: dict[tuple[int, int], float] = {}
        at = 0
        while at + 1 < len(order):
            pair = upper, lower = order[at], order[at + 1]
            if heights[upper] > heights[lower] + slack_px:
                since[pair] = self._since.get(pair, now_s)
                if now_s - since[pair] >= HOLD_S:
                    order[at : at + 2] = [lower, upper]
                    at += 1  # one place at a time
            at += 1
        self._order, self._since = order, since
        return list(order)


def spread(
    wanted: Sequence[float], each: float, low: float, high: float
) -> list[float]:
    """Heights in the given order, `each` apart, as near as can be to what is wanted.

    All are within low .. high where there is room.
    """
    # Without the distances they only have to ascend: neighbours that don't share one.
    groups: list[tuple[float, int]] = []
    for place, height in enumerate(wanted):
        mean, count = height - place * each, 1
        while groups and groups[-1][0] > mean:
            others, more = groups.pop()
            mean = (mean * count + others * more) / (count + more)
            count += more
        groups.append((mean, count))
    last = high - (len(wanted) - 1) * each
    level = [
        min(max(m, low), max(last, low)) for m, count in groups for _ in range(count)
    ]
    return [height + place * each for place, height in enumerate(level)]
