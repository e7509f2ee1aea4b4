from __future__ import annotations

import pytest

from isoscope.app.panels import PANELS, TRANSPORT
from isoscope.app.window.layouts import (
    DEFAULT,
    LAYOUTS,
    Tabs,
    anchor,
    column,
    leaves,
    offered,
    row,
)

TREE = row(
    (column((row(("a", 1), ("b", 2)), 3), ("c", 1)), 2),
    (column(("d", 1), (Tabs(("e", "f")), 1)), 1),
)


def test_leaves_are_in_order():
    assert list(leaves(TREE)) == list("abcdef")


def test_an_anchor_has_no_other_split_of_its_way_above_it():
    left, right = (part for part, _ in TREE.parts)
    assert anchor(left, "row") == "c"  # a and b stand in a row of their own
    assert anchor(right, "row") == "d"
    assert anchor(Tabs(("e", "f")), "column") == "e"


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda layout: layout.key)
def test_each_layout_names_panels_that_exist_once(layout):
    assert len(set(layout.panels)) == len(layout.panels)
    assert set(layout.panels) <= set(PANELS) - {TRANSPORT}


def test_a_layout_is_offered_when_all_of_its_panels_exist():
    assert DEFAULT in [layout.key for layout in offered(set(PANELS))]
    assert offered({"scene"}) == []
