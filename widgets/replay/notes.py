"""Everything else that a re-simulation says, as rich text.

What differs in the configuration; how it grows, restore twice, what could not be
compared, and notes.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.replay.forms import Comparison
    from isoscope.core.replay.replay_forms import Replay
    from isoscope.core.replay.stand_in.forms import FieldResidual, StandIn
    from isoscope.widgets.theme import Tokens

MOST_NUMBERS = 12
SHOWN_GROWTH = 8


def configuration_html(found: Comparison, t: Tokens) -> str:
    """What is not the same in both."""
    different = found.configuration_differences
    if not different:
        return _paragraph(found.claims.same_configuration.reason + ".", t.dim)
    rows = [(d.key, _value(d.a), _value(d.b)) for d in different]
    return _table(("", "as recorded", "here"), rows, t)


def about_html(found: Replay, t: Tokens) -> str:
    """How it was stepped, how it grows, and what is to be known besides."""
    parts = []
    states = f"{found.states_equal} of {found.states_compared}"
    facts = [
        ("stepped by", found.engine or found.b),
        ("compared", f"{found.compared_steps:,} native steps"),
        ("judged by", _judged(found)),
        ("whole states equal", states if found.states_compared else "none passed"),
        ("snapshots used", ", ".join(found.snapshots_used[:MOST_NUMBERS]) or "none"),
    ]
    if found.stopped:
        facts.insert(0, ("stopped early", found.stopped))
    parts.append(_table(None, facts, t))
    first = found.first_divergence
    if first is not None and len(found.growth) > 1:
        unit = f" {first.unit}" if first.unit else ""
        sizes = [f"{one.size:.3g}" for one in found.growth[:SHOWN_GROWTH]]
        grows = " → ".join(sizes) + unit
        parts.append(_head(f"How {first.actor}.{first.field} grows", t))
        parts.append(_paragraph(grows, t.text))
    lists: list[tuple[str, Sequence[str]]] = [
        ("Restored twice", [f"env {one.env}: {one.why}" for one in found.twice]),
        ("Could not be compared", found.not_checkable),
        ("Besides", found.notes),
    ]
    for title, lines in lists:
        if lines:
            parts.append(_head(title, t))
            parts += [_paragraph(line, t.dim) for line in lines]
    return "".join(parts)


def stand_in_html(found: StandIn, t: Tokens) -> str:
    """How far off the model is field by field, and what is to be known besides."""
    stood = f"{found.model}, {found.integrator}, {found.precision}"
    facts = [("standing in", stood), ("driven by", found.driven_by)]
    parts = [_table(None, facts, t)]
    for title, rows in (
        ("Each step from the recorded state", found.one_step),
        ("Freely, from each episode's first known state on", found.free),
    ):
        if rows:
            parts += [_head(title, t), _residuals(rows, t)]
    if found.drift:
        every = max(1, len(found.drift) // SHOWN_GROWTH)
        told = [f"{one.size:.2g} after {one.steps}" for one in found.drift[::every]]
        parts.append(_head(f"How {found.drift_field} drifts freely", t))
        parts.append(_paragraph(" → ".join(told) + " native steps", t.text))
    for title, lines in (
        ("Could not be compared", found.not_checkable),
        ("Besides", found.notes),
    ):
        if lines:
            parts.append(_head(title, t))
            parts += [_paragraph(line, t.dim) for line in lines]
    return "".join(parts)


def _residuals(rows: Sequence[FieldResidual], t: Tokens) -> str:
    heads = ("field", "largest", "median", "rms", "rms change in a step")
    cells = []
    for one in sorted(rows, key=lambda row: -row.largest):
        unit = f" {one.unit}" if one.unit else ""
        sizes = (one.middle, one.rms, one.change)
        name, largest = f"{one.actor}.{one.field}", f"{one.largest:.3g}{unit}"
        cells.append((name, largest, *(f"{size:.3g}" for size in sizes)))
    return _table(heads, cells, t)


def _judged(found: Replay) -> str:
    if found.judged_by == "bits":
        return "every bit"
    own = [f"{name} {value:g}" for name, value in found.tolerances.items()]
    rest = f"others {found.tolerance:g} × (1 + the larger value)"
    return ", ".join([*own, rest])


def _value(value: Any) -> str:
    if isinstance(value, list):
        shown = ", ".join(_value(one) for one in value[:MOST_NUMBERS])
        more = ", …" if len(value) > MOST_NUMBERS else ""
        return f"({shown}{more})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _paragraph(text: str, colour: str) -> str:
    return f"<p style='margin:2px 0;color:{colour}'>{escape(text)}</p>"


def _head(text: str, t: Tokens) -> str:
    return f"<p style='margin:8px 0 1px 0;color:{t.text}'><b>{escape(text)}</b></p>"


def _table(
    heads: tuple[str, ...] | None, rows: Sequence[tuple[str, ...]], t: Tokens
) -> str:
    cell = "padding:1px 12px 1px 0"
    lines = []
    if heads is not None:
        cells = "".join(
            f"<td style='{cell};color:{t.dim}'>{escape(head)}</td>" for head in heads
        )
        lines.append(f"<tr>{cells}</tr>")
    for row in rows:
        cells = "".join(
            f"<td style='{cell};color:{t.text if at else t.dim}'>{escape(text)}</td>"
            for at, text in enumerate(row)
        )
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"
