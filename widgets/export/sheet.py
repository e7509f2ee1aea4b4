"""What the Export panel looks like in a theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.resources import icon

if TYPE_CHECKING:
    from isoscope.widgets.theme import Tokens


def sheet(t: Tokens) -> str:
    """The style sheet: form, boxes and their ticks, report, buttons."""
    tick = icon(f"tick-{t.name}.svg").as_posix()
    return (
        f"#export-inside {{ background: {t.panel}; }}"
        "QTreeView::item { min-height: 19px; }"
        f"QCheckBox {{ color: {t.text}; }}"
        "QCheckBox::indicator, QTreeView::indicator { width: 11px; height: 11px;"
        f" border: 1px solid {t.dim}; border-radius: 3px; background: {t.panel}; }}"
        "QCheckBox::indicator:checked, QTreeView::indicator:checked {"
        f" background: {t.accent}; border-color: {t.accent};"
        f' image: url("{tick}"); }}'
        f"QTreeView {{ border: 1px solid {t.border}; border-radius: 4px; }}"
        f"#export-stale, #export-left {{ color: {t.dim}; }}"
        f"#export-problem {{ color: {t.error}; }}"
        f"#export-done {{ color: {t.ok}; }}"
        f"QPushButton#primary {{ color: {t.accent_text}; background: {t.accent};"
        f" border-color: {t.accent}; }}"
        f"QPushButton#primary:disabled {{ color: {t.faint};"
        f" background: {t.raised}; border-color: {t.border}; }}"
    )
