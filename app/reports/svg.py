"""Plots as inline SVG; colours are the page's, so that they follow its theme."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.app.reports.evidence.plot import Line, Plot
    from isoscope.core.recording.tracks import Array

WIDTH, HEIGHT = 760, 250
LEFT, RIGHT, TOP, BOTTOM = 76, 14, 16, 38
COLOURS = 8  # environments that the style sheet has a colour for
TICKS = 5
CHARACTER = 6.4  # pixels, of a label's text
CROWDED = 120  # pixels to the next mark, within which a label goes to the left
# Shapes beside colours, so that lines can be told apart without them.
SHAPES = ("circle", "square", "diamond", "triangle")


def svg(plot: Plot) -> str:
    """Draw a plot."""
    scale = _Scale(plot)
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(plot.title)}">'
    ]
    parts += [_shade(scale, low, high) for low, high in plot.shaded]
    parts += _axes(scale, plot.y_label)
    for line in plot.lines:
        parts += _points(scale, line) if line.style == "points" else _curve(scale, line)
    parts += _marks(scale, plot)
    parts.append("</svg>")
    return "".join(parts)


def legend(plot: Plot) -> str:
    """What the lines are, as a row of samples with their names."""
    items = []
    for line in plot.lines:
        kind = _class(line.env)
        if line.style == "points":
            sample = _shape(7, 7, line.env)
        else:
            dash = ' stroke-dasharray="5 4"' if line.style == "dashed" else ""
            sample = f'<line x1="0" y1="7" x2="26" y2="7" class="curve"{dash}/>'
        items.append(
            f'<li><svg class="sample {kind}" viewBox="0 0 26 14" aria-hidden="true">'
            f"{sample}</svg>{escape(line.label)}</li>"
        )
    if plot.shaded:
        items.append('<li><i class="sample shade"></i>not to be trusted</li>')
    return f'<ul class="legend">{"".join(items)}</ul>'


class _Scale:
    """From values to the page."""

    def __init__(self, plot: Plot) -> None:
        x = np.concatenate([line.x for line in plot.lines])
        y = np.concatenate(
            [*(line.y for line in plot.lines), [mark.y for mark in plot.marks]]
        )
        self.x = _span(x, 0.02)
        self.y = _span(y, 0.2)

    def px(self, x: float) -> float:
        low, high = self.x
        inside = WIDTH - LEFT - RIGHT
        return float(LEFT + (np.clip(x, low, high) - low) / (high - low) * inside)

    def py(self, y: float) -> float:
        low, high = self.y
        inside = HEIGHT - TOP - BOTTOM
        return float(
            HEIGHT - BOTTOM - (np.clip(y, low, high) - low) / (high - low) * inside
        )


def _span(values: Array, margin: float) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        pad = max(abs(low), 1.0) * 0.5
        return low - pad, high + pad
    pad = (high - low) * margin
    return low - pad, high + pad


def _ticks(low: float, high: float, whole: bool = False) -> list[float]:
    rough = (high - low) / TICKS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    if whole:
        step = max(1.0, float(np.rint(step)))
    first = np.ceil(low / step) * step
    ticks = np.arange(first, high + step * 1e-9, step)
    ticks[np.abs(ticks) < step * 1e-9] = 0.0  # not -0, nor what rounding made of it
    return [float(t) + 0.0 for t in ticks]


def _axes(scale: _Scale, y_label: str) -> list[str]:
    parts = []
    for tick in _ticks(*scale.y):
        y = scale.py(tick)
        shown = f"{tick:.6g}"
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" '
            f'y2="{y:.1f}"/><text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" '
            f'text-anchor="end">{shown}</text>'
        )
    for tick in _ticks(*scale.x, whole=True):
        x = scale.px(tick)
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{tick:.0f}</text>'
        )
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts.append(
        f'<text class="axis" x="{(WIDTH + LEFT - RIGHT) / 2}" y="{HEIGHT - 6}" '
        f'text-anchor="middle">native step</text>'
        f'<text class="axis" transform="translate(13 {middle}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>'
    )
    return parts


def _shade(scale: _Scale, low: float, high: float) -> str:
    x = scale.px(low)
    wide = max(scale.px(high) - x, 1.0)
    return (
        f'<rect class="shade" x="{x:.1f}" y="{TOP}" width="{wide:.1f}" '
        f'height="{HEIGHT - TOP - BOTTOM}"/>'
    )


def _curve(scale: _Scale, line: Line) -> list[str]:
    parts, run = [], []
    dash = ' stroke-dasharray="5 4"' if line.style == "dashed" else ""
    for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
        if np.isfinite(y):
            run.append(f"{scale.px(x):.1f},{scale.py(y):.1f}")
            continue
        parts.append(_polyline(run, line.env, dash))
        run = []
    parts.append(_polyline(run, line.env, dash))
    return [part for part in parts if part]


def _polyline(points: list[str], env: int, dash: str) -> str:
    if not points:
        return ""
    if len(points) == 1:
        x, y = points[0].split(",")
        return f'<circle class="dot {_class(env)}" cx="{x}" cy="{y}" r="2.5"/>'
    return f'<polyline class="curve {_class(env)}" points="{" ".join(points)}"{dash}/>'


def _points(scale: _Scale, line: Line) -> list[str]:
    kind = _class(line.env)
    marks = "".join(
        _shape(scale.px(x), scale.py(y), line.env)
        for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True)
        if np.isfinite(y)
    )
    return [f'<g class="{kind}">{marks}</g>']


def _shape(x: float, y: float, env: int) -> str:
    # Environments of one colour differ in shape.
    shape = SHAPES[(env + env // COLOURS) % len(SHAPES)]
    if shape == "square":
        return (
            f'<rect class="dot" x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'
        )
    if shape == "diamond":
        return _polygon((x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y))
    if shape == "triangle":
        return _polygon((x, y - 4), (x + 4, y + 3), (x - 4, y + 3))
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def _polygon(*corners: tuple[float, float]) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon class="dot" points="{points}"/>'


def _marks(scale: _Scale, plot: Plot) -> list[str]:
    """Rings, and their labels where they cover least."""
    busy = _drawn(scale, plot)
    parts: list[str] = []
    for mark in plot.marks:
        if not np.isfinite(mark.y):
            continue
        x, y = scale.px(mark.x), scale.py(mark.y)
        crowded = any(0 < scale.px(other.x) - x < CROWDED for other in plot.marks)
        at_x, at_y, wide = _room(x, y, mark.label, busy, crowded)
        inside = np.arange(at_x, at_x + wide, 4.0)
        label = np.stack([inside, np.full(len(inside), at_y - 4)], axis=1)
        busy = np.concatenate([busy, np.repeat(label, 8, axis=0)])
        parts.append(
            f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
            f'<text class="mark" x="{at_x:.1f}" y="{at_y:.1f}">'
            f"{escape(mark.label)}</text>"
        )
    return parts


def _drawn(scale: _Scale, plot: Plot) -> Array:
    """Points [n, 2] of the page that lines go through, every few pixels."""
    found = [np.zeros((0, 2))]
    for line in plot.lines:
        known = np.isfinite(line.y)
        if not known.any():
            continue
        x = np.array([scale.px(v) for v in line.x[known]])
        y = np.array([scale.py(v) for v in line.y[known]])
        if line.style != "points" and len(x) > 1:
            every = np.linspace(0, len(x) - 1, max(4 * len(x), WIDTH // 3))
            steps = np.arange(len(x))
            x, y = np.interp(every, steps, x), np.interp(every, steps, y)
        found.append(np.stack([x, y], axis=1))
    return np.concatenate(found)


def _room(
    x: float, y: float, label: str, busy: Array, left_first: bool
) -> tuple[float, float, float]:
    """Left end and baseline of a label beside a point, and how wide it is."""
    wide = CHARACTER * len(label)
    best = (np.inf, x, y)
    for at_y in (y - 9, y + 17, y - 24, y + 32):
        sides = (x - 9 - wide, x + 9) if left_first else (x + 9, x - 9 - wide)
        for at_x in sides:
            if not LEFT <= at_x <= WIDTH - RIGHT - wide:
                continue
            if not TOP + 8 <= at_y <= HEIGHT - BOTTOM - 2:
                continue
            inside = (busy[:, 0] > at_x - 4) & (busy[:, 0] < at_x + wide + 4)
            inside &= (busy[:, 1] > at_y - 13) & (busy[:, 1] < at_y + 5)
            if int(inside.sum()) < best[0]:
                best = (float(inside.sum()), at_x, at_y)
    return float(best[1]), float(best[2]), wide


def _class(env: int) -> str:
    return "env-none" if env < 0 else f"env-{env % COLOURS}"
