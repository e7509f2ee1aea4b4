"""Where everything in the timeline goes; pure geometry in logical pixels. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.timeline.model import LaneKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.timeline.model import Lane, Timeline

RULER_TOP = 2
RULER = 21
ARCS = 13
EVENTS = 11
OWNER = 14
RESIDUAL = 12
STEPS = 12
STEPS_ALONE = 52
STEPS_ROOMY = 36
GAP = 3
LANE_LOWEST = 13
LANE_HIGHEST = 24
LANE_GAP = 3
OVERVIEW_MARKS = 9
OVERVIEW = 16
BOTTOM = 7
RIGHT = 12
LABEL_LEFT = 8
CHIP = 9
LABEL_NARROWEST = 84
LABEL_WIDEST = 170
SCROLLBAR = 10
MEASURED = 12  # longest labels whose width is asked

HEIGHTS = {
    LaneKind.EVENTS: EVENTS,
    LaneKind.OWNER: OWNER,
    LaneKind.RESIDUAL: RESIDUAL,
    LaneKind.STEPS: STEPS,
}
# Marks hang from the ruler; the ribbon comes next, with the arcs right above it.
ORDER = (LaneKind.EVENTS, LaneKind.OWNER, LaneKind.RESIDUAL, LaneKind.STEPS)


@dataclass(frozen=True, slots=True)
class Placed:
    """A lane and the box of what lies on it."""

    lane: Lane
    top: int
    height: int

    @property
    def bottom(self) -> int:
        """First pixel below the box."""
        return self.top + self.height

    @property
    def middle(self) -> float:
        """Middle of the box."""
        return self.top + self.height / 2


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes of everything.

    Attributes
    ----------
    left, right
        The pixels between which rows are drawn.
    ruler_top, lanes_top
        The ruler lies between the two.
    arcs_bottom
        What the arcs stand on; 0 where there are none.
    pinned, scrolled
        Lanes in sight or not, at their present places.
    scroll_top, scroll_bottom
        The window that the scrolled lanes are seen through.
    content
        Height of all scrolled lanes together.
    overview_top
        Top of the overview bar; its marks are above it.
    """

    width: int
    height: int
    left: int
    right: int
    ruler_top: int
    lanes_top: int
    arcs_bottom: int
    pinned: tuple[Placed, ...]
    scrolled: tuple[Placed, ...]
    scroll_top: int
    scroll_bottom: int
    content: int
    overview_top: int

    @property
    def plot_width(self) -> int:
        """Pixels that rows are drawn on."""
        return max(self.right - self.left, 1)

    @property
    def overflow(self) -> int:
        """How far the lanes can be scrolled."""
        return max(self.content - (self.scroll_bottom - self.scroll_top), 0)

    @property
    def overview_bottom(self) -> int:
        """First pixel below the overview bar."""
        return self.overview_top + OVERVIEW

    @property
    def lanes_bottom(self) -> int:
        """Where the playhead's line ends."""
        return self.scroll_bottom

    def visible(self) -> list[Placed]:
        """Lanes of which something is in sight."""
        seen = [
            placed
            for placed in self.scrolled
            if placed.bottom > self.scroll_top and placed.top < self.scroll_bottom
        ]
        return [*self.pinned, *seen]

    def lane_at(self, y: float) -> Placed | None:
        """The lane at this height, its gap included."""
        for placed in self.visible():
            if placed.top - LANE_GAP // 2 <= y < placed.bottom + LANE_GAP // 2:
                return placed
        return None

    def in_ruler(self, y: float) -> bool:
        """Whether this height is the ruler's."""
        return self.ruler_top <= y < self.lanes_top

    def in_overview(self, y: float) -> bool:
        """Whether this height is the overview's, its marks included."""
        return y >= self.overview_top - OVERVIEW_MARKS


def lay_out(
    timeline: Timeline,
    width: int,
    height: int,
    scroll: int,
    measure: Callable[[str], int],
) -> Layout:
    """Place everything.

    Parameters
    ----------
    width, height
        Of the canvas.
    scroll
        How far the scrolled lanes are scrolled; clamped.
    measure
        Gives the width of a label.
    """
    labels = sorted({lane.label for lane in timeline.lanes}, key=len)
    widest = max(map(measure, labels[-MEASURED:]), default=0)
    left = LABEL_LEFT + CHIP + 6 + widest + 10
    left = min(max(left, LABEL_NARROWEST), LABEL_WIDEST, max(width // 3, 1))
    lanes_top = RULER_TOP + RULER
    overview_top = max(height - BOTTOM - OVERVIEW, lanes_top + OVERVIEW_MARKS)
    floor = overview_top - OVERVIEW_MARKS
    scrolled = [lane for lane in timeline.lanes if not lane.pinned]
    y = lanes_top + 2
    arcs_bottom = 0
    pinned = []
    ordered = [lane for k in ORDER for lane in timeline.lanes if lane.kind is k]
    for lane in ordered:
        tall = HEIGHTS[lane.kind]
        if lane.kind is LaneKind.STEPS:
            spare = floor - y - GAP - LANE_HIGHEST * len(scrolled)
            most = STEPS_ROOMY if scrolled else STEPS_ALONE
            tall = min(max(spare, STEPS), most)
        if timeline.extras.arcs and not arcs_bottom and lane.kind is not ORDER[0]:
            y += ARCS
            arcs_bottom = y
        pinned.append(Placed(lane, y, tall))
        y += tall + GAP
    scroll_bottom = max(floor - 2, y)
    room = scroll_bottom - y
    pitch = 0
    if scrolled:
        pitch = min(max(room // len(scrolled), LANE_LOWEST), LANE_HIGHEST)
    content = pitch * len(scrolled)
    scroll = min(max(scroll, 0), max(content - room, 0))
    placed = tuple(
        Placed(lane, y - scroll + i * pitch + 1, pitch - LANE_GAP)
        for i, lane in enumerate(scrolled)
    )
    right = width - RIGHT - (SCROLLBAR if content > room else 0)
    return Layout(
        width=width,
        height=height,
        left=left,
        right=max(right, left + 1),
        ruler_top=RULER_TOP,
        lanes_top=lanes_top,
        arcs_bottom=arcs_bottom,
        pinned=tuple(pinned),
        scrolled=placed,
        scroll_top=y,
        scroll_bottom=scroll_bottom,
        content=content,
        overview_top=overview_top,
    )
