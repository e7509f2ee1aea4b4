"""What all reports have: the page around them, tables, and what they were made with."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeAlias

from isoscope.app.reports.report import versions
from isoscope.app.reports.style import style_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable

Row: TypeAlias = tuple[str, ...]


def page(title: str, body: list[str]) -> str:
    """A whole page: no other file, no script, light and dark."""
    inside = "\n".join([*body, _footer()])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style_sheet()}</style>\n</head>\n"
        f"<body>\n<main>\n{inside}\n</main>\n</body>\n</html>\n"
    )


def table(head: Row, rows: Iterable[Row]) -> str:
    """A table of texts; without a heading where `head` is empty."""
    parts = ["<table>"]
    if head:
        cells = "".join(f"<th>{escape(name)}</th>" for name in head)
        parts.append(f"<thead><tr>{cells}</tr></thead>")
    parts.append("<tbody>")
    for row in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        parts.append(f"<tr>{cells}</tr>")
    parts.append("</tbody></table>")
    return "".join(parts)


def _footer() -> str:
    made = ", ".join(f"{name} {value}" for name, value in versions())
    return f"<footer><p>Made with {escape(made)}.</p></footer>"
