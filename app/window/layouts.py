"""The named layouts, as data: which panels, where, and how large. No Qt.

A layout is a tree: rows and columns of parts with weights, down to panels and to tabs
of panels. It is offered when all of its panels exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Split:
    """Parts beside each other (``"row"``) or above each other (``"column"``)."""

    way: Literal["row", "column"]
    parts: tuple[tuple[Node, float], ...]


@dataclass(frozen=True, slots=True)
class Tabs:
    """Panels in one place, the first one in front."""

    panels: tuple[str, ...]


Node: TypeAlias = "Split | Tabs | str"


def row(*parts: tuple[Node, float]) -> Split:
    """Parts from left to right, each with its weight."""
    return Split("row", parts)


def column(*parts: tuple[Node, float]) -> Split:
    """Parts from top to bottom, each with its weight."""
    return Split("column", parts)


@dataclass(frozen=True, slots=True)
class Layout:
    """A named arrangement."""

    key: str
    title: str
    tree: Node

    @property
    def panels(self) -> tuple[str, ...]:
        """The panels in it."""
        return tuple(leaves(self.tree))


LAYOUTS: dict[str, Layout] = {
    layout.key: layout
    for layout in (
        Layout(
            "inspect",
            "Inspect",
            row(
                (
                    column((row(("sources", 22), ("scene", 78)), 72), ("timeline", 28)),
                    71,
                ),
                (column(("signals", 50), ("inspector", 50)), 29),
            ),
        ),
        Layout(
            "isolate",
            "Isolate",
            row(
                (
                    column((row(("sources", 20), ("scene", 80)), 64), ("timeline", 36)),
                    71,
                ),
                (
                    column(
                        ("signals", 34),
                        (Tabs(("clocks", "inspector")), 32),
                        ("findings", 34),
                    ),
                    29,
                ),
            ),
        ),
        Layout(
            "align",
            "Align",
            column(
                (
                    row(
                        ("sources", 14),
                        ("clocks", 52),
                        (column(("scene", 50), ("signals", 50)), 34),
                    ),
                    66,
                ),
                ("timeline", 34),
            ),
        ),
        Layout(
            "curate",
            "Curate",
            row(
                (
                    column((row(("sources", 24), ("scene", 76)), 46), ("timeline", 54)),
                    44,
                ),
                (column(("curate", 46), (Tabs(("export", "findings")), 54)), 56),
            ),
        ),
        Layout(
            "replay",
            "Replay",
            row(
                (
                    column((row(("sources", 20), ("scene", 80)), 66), ("timeline", 34)),
                    63,
                ),
                (column(("replay", 78), (Tabs(("inspector", "signals")), 22)), 37),
            ),
        ),
        Layout(
            "live",
            "Live",
            row(
                (
                    column((row(("sources", 26), ("scene", 74)), 60), ("timeline", 40)),
                    66,
                ),
                (column((Tabs(("clocks", "signals")), 44), ("costs", 56)), 34),
            ),
        ),
    )
}
DEFAULT = "inspect"


def leaves(node: Node) -> Iterator[str]:
    """The panels below a node, in order."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Tabs):
        yield from node.panels
    else:
        for part, _ in node.parts:
            yield from leaves(part)


def anchor(node: Node, way: Literal["row", "column"]) -> str:
    """A panel below the node that no other split of this way stands between.

    Resizing it in this way resizes the node as a whole. Falls back to the first panel
    where there is none.
    """
    return _anchor(node, way) or next(leaves(node))


def _anchor(node: Node, way: Literal["row", "column"]) -> str | None:
    if isinstance(node, str):
        return node
    if isinstance(node, Tabs):
        return node.panels[0]
    if node.way == way:
        return None
    return next((a for part, _ in node.parts if (a := _anchor(part, way))), None)


def home_of(panel: str, layouts: list[Layout]) -> Layout | None:
    """The first of these layouts that has the panel; None where none has."""
    return next((layout for layout in layouts if panel in layout.panels), None)


def offered(panels: set[str]) -> list[Layout]:
    """The layouts whose panels all exist."""
    return [layout for layout in LAYOUTS.values() if set(layout.panels) <= panels]
