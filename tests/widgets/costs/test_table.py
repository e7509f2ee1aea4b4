"""The table of costs: the same rows with other numbers are written in place."""

from __future__ import annotations

from dataclasses import replace

from isoscope.widgets.costs.rows import Row
from isoscope.widgets.costs.table import CostsTable
from isoscope.widgets.theme import DARK, LIGHT


def rows(value: str, bar: float = 0.5) -> list[Row]:
    step = Row("step", ("step", value, value), "what a step takes", bar)
    return [Row("part", ("A control step",), children=[step])]


def test_other_numbers_keep_the_items_and_what_is_folded(qtbot) -> None:
    table = CostsTable()
    qtbot.addWidget(table)
    table.show_rows(rows("1 ms"))
    step = table.item_of("step")
    assert step is not None
    table.topLevelItem(0).setExpanded(False)
    table.show_rows(rows("2 ms", 0.75))
    assert table.item_of("step") is step
    assert (step.text(1), step.text(2)) == ("2 ms", "2 ms")
    assert not table.topLevelItem(0).isExpanded()


def test_other_rows_are_made_anew(qtbot) -> None:
    table = CostsTable()
    qtbot.addWidget(table)
    table.show_rows(rows("1 ms"))
    (section,) = rows("1 ms")
    more = replace(section, children=[*section.children, Row("wait", ("wait", "3 ms"))])
    table.show_rows([more])
    assert [i.text(0) for i in table.items()] == ["A control step", "step", "wait"]
    table.show_rows(rows("4 ms"))
    assert [i.text(1) for i in table.items()] == ["", "4 ms"]


def test_another_theme_dresses_them_anew(qtbot) -> None:
    table = CostsTable()
    qtbot.addWidget(table)
    colours = []
    for tokens in (DARK, LIGHT):
        table.set_look(tokens)
        table.show_rows(rows("1 ms"))
        colours.append(table.topLevelItem(0).foreground(0).color().name())
    assert len(set(colours)) == 2
