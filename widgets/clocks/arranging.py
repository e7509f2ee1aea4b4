"""Where each fact of the Clocks' table stands: columns, lines and wraps; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.widgets.clocks.facts import Fact

    Measure = Callable[[str], int]

GAP_PX = 8  # after a name, and between columns


@dataclass(frozen=True, slots=True)
class Placed:
    """A fact on the table.

    Attributes
    ----------
    left_px, line
        Where its name begins.
    name_px, value_px
        Room for the name, after which its value begins, and for the value.
    lines
        The value; more than one where it has no room in one.
    """

    fact: Fact
    left_px: int
    line: int
    name_px: int
    value_px: int
    lines: tuple[str, ...]


def arranged(
    facts: Sequence[Fact],
    grid: tuple[int, int],
    room: tuple[int, int],
    name_px: Measure,
    value_px: Measure,
) -> list[Placed]:
    """Place the facts column by column, none of them cut where that can be.

    Columns are as wide as what is in them. Where they can't, values are wrapped, or
    there are fewer columns, whichever leaves out least. What matters least comes last.

    Parameters
    ----------
    grid
        Lines of a column and columns, where every fact has one line.
    room
        Pixels of a line, and lines that there is room for.
    name_px, value_px
        How wide a text is.
    """
    lines, columns = grid
    best: list[Placed] = []
    wrapped = 0
    for count in range(columns, 0, -1):
        each = lines if count == columns else min(-(-len(facts) // count), room[1])
        made = _in_columns(facts, count, each, room, name_px, value_px)
        more = sum(len(one.lines) > 1 for one in made)
        if not best or (len(made), -more) > (len(best), -wrapped):
            best, wrapped = made, more
    return best


def _in_columns(
    facts: Sequence[Fact],
    count: int,
    each: int,
    room: tuple[int, int],
    name_px: Measure,
    value_px: Measure,
) -> list[Placed]:
    width, most = room
    parts = [facts[at : at + each] for at in range(0, len(facts), each)][:count]
    names = [max(name_px(f.name) for f in part) + GAP_PX for part in parts]
    values = [max(value_px(f.value) for f in part) + GAP_PX for part in parts]
    wide = shares([n + v for n, v in zip(names, values, strict=True)], width)
    made: list[Placed] = []
    column, line, held, left = 0, 0, 0, 0
    for fact in facts:
        value = max(wide[column] - names[column] - GAP_PX, 1)
        lines = wrapped(fact.value, value, value_px)
        if held == each or (held and line + len(lines) > most):
            if column + 1 == len(wide):
                break
            left, column, line, held = left + wide[column], column + 1, 0, 0
            value = max(wide[column] - names[column] - GAP_PX, 1)
            lines = wrapped(fact.value, value, value_px)
        made.append(Placed(fact, left, line, names[column], value, lines))
        line, held = line + len(lines), held + 1
    return made


def shares(needed: Sequence[int], width: int) -> list[int]:
    """Divide a width: evenly where that does, else by what each needs.

    So columns stay where they are while their values change.
    """
    if max(needed) <= width // len(needed):
        return [width // len(needed)] * len(needed)
    spare = width - sum(needed)
    if spare >= 0:
        return [one + spare // len(needed) for one in needed]
    given = dict.fromkeys(range(len(needed)), 0)
    left, waiting = width, sorted(given, key=lambda at: needed[at])
    for place, at in enumerate(waiting):
        given[at] = min(needed[at], left // (len(waiting) - place))
        left -= given[at]
    return list(given.values())


def wrapped(text: str, width: int, measure: Measure) -> tuple[str, ...]:
    """The text in lines of at most this width, as far as its words are."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and measure(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)
