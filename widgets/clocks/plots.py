"""What the Clocks panel plots: each clock as a line over the native steps; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.clocklines import (
    ArrayRows,
    GrowingHeld,
    GrowingRows,
    HeldRows,
    magnitudes,
)
from isoscope.core.decimate import Decimator
from isoscope.core.following.own_steps import FollowedAnalysis
from isoscope.core.turns import TurnDecimator
from isoscope.widgets.session import FieldRef
from isoscope.widgets.signals.by_env import chosen_envs
from isoscope.widgets.signals.resolve import Curve, PlotSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.analysis import Analysis
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.session import Document

LEAST_PX = 88  # of a plot, its title included
TAIL_ROWS = 4096  # of a run that goes on, in which clocks that are told turn up
RESIDUAL_FLOOR_M = 1e-15


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the plots depend on; equal ones give the same plots."""

    rows: int
    analysis: int
    shown: tuple[int, ...]
    focus: int | None
    told: frozenset[str] = frozenset()


def wanted_of(document: Document, before: Wanted | None = None) -> Wanted:
    """What to plot of a document now; `before` is what was wanted of it last."""
    analysis = document.analysis
    live = isinstance(analysis, FollowedAnalysis)
    told: frozenset[str] = frozenset()
    if isinstance(analysis, FollowedAnalysis):
        tail = None if before is None else TAIL_ROWS
        told = _told(document, analysis, tail)
        told |= frozenset() if before is None else before.told
    return Wanted(
        -1 if live else document.rows,  # a live one's lines grow by themselves
        0 if analysis is None else id(analysis.attribution),
        document.shown_envs,
        document.focus,
        told,
    )


def clock_plots(document: Document) -> list[PlotSpec]:
    """The plots, the most telling first: clocks, control time, residual.

    Without an analysis only what the file itself says. A clock that nobody recorded has
    no line, and there is no plot without one.
    """
    steps = document.recording.steps
    analysis = document.analysis
    if isinstance(analysis, FollowedAnalysis):
        return _live_plots(document, analysis)
    time_s = np.array(steps.time_s)
    recording = [_line("recording", "text", time_s)] if _known(time_s) else []
    if analysis is None:
        return _some("clocks", recording)
    rows = min(len(steps), analysis.rows)
    scene_s = analysis.attribution.scene_time_s[:rows]
    envs = chosen_envs(document.shown_envs, document.focus)
    plots = []
    curves = list(recording)
    if _known(scene_s):
        curves.append(_line("scene", "dim", scene_s))
        curves += _own(analysis, scene_s, envs, document.focus)
    elif _known(analysis.attribution.scene_time_since_s[:rows]):
        # Recording began after the reset: how far it goes back is known all the same.
        since_s = analysis.attribution.scene_time_since_s[:rows]
        curves.append(_line("scene, rel.", "warning", since_s))
    plots += _some("clocks", curves)
    control = [
        _held(analysis, env, document.focus)
        for env in envs
        if _goes(analysis.control_s[analysis.rows_of(env)])
    ]
    plots += _some("control time", control, _more(document, envs))
    residual = analysis.attribution.residual_m
    if _known(residual):
        line = _line("", "accent", magnitudes(residual, RESIDUAL_FLOOR_M))
        note = "0 stands at -15" if bool((residual == 0).any()) else ""
        plots.append(_plot("residual", "[log₁₀ m]", [line], note))
    return plots


def _live_plots(document: Document, analysis: FollowedAnalysis) -> list[PlotSpec]:
    """The same of a run that goes on, as lines that grow."""
    steps, found = document.recording.steps, analysis.attribution
    envs = chosen_envs(document.shown_envs, document.focus)

    def line(name: str, colour: str, column: Callable[[], Array]) -> Curve:
        rows = GrowingRows(column)
        return Curve(name, colour, rows, Decimator(rows))

    def own(env: int, column: Callable[[], Array]) -> GrowingHeld:
        return GrowingHeld(column, lambda: analysis.rows_of(env))

    def scene_s() -> Array:
        return found.scene_time_s

    def control_s() -> Array:
        now = document.analysis
        return analysis.control_s if now is None else now.control_s

    def pale(env: int) -> bool:
        return document.focus is not None and env != document.focus

    told = _told(document, analysis)
    curves = []
    if "recording" in told:
        curves.append(line("recording", "text", lambda: steps.time_s))
    if "scene" in told:
        curves.append(line("scene", "dim", scene_s))
        for env in envs:
            own_steps = analysis.turns_of(env)
            turns = TurnDecimator(GrowingRows(scene_s), own_steps, steps.spill)
            rows = own(env, scene_s)
            curves.append(
                Curve(f"env {env}", env, rows, turns, pale=pale(env), waits=True)
            )
    plots = _some("clocks", curves)
    held = []
    for env in envs:
        rows = own(env, control_s)
        held.append(Curve(f"env {env}", env, rows, Decimator(rows), pale=pale(env)))
    if "control" in told:
        plots += _some("control time", held, _more(document, envs))
    return plots


def _told(
    document: Document, analysis: FollowedAnalysis, tail: int | None = None
) -> frozenset[str]:
    """Which clocks a run tells, by its last rows or (None) by all of them."""
    since = 0 if tail is None else -tail
    columns = {
        "recording": (document.recording.steps.time_s, _known),
        "scene": (analysis.attribution.scene_time_s, _known),
        "control": (analysis.control_s, _goes),
    }
    return frozenset(
        name for name, (column, there) in columns.items() if there(column[since:])
    )


def _some(name: str, curves: Sequence[Curve], note: str = "") -> list[PlotSpec]:
    """A plot of clocks, if there is one."""
    return [_plot(name, "[s]", curves, note)] if curves else []


def as_many_as_fit(plots: Sequence[PlotSpec], height_px: int) -> list[PlotSpec]:
    """The first plots, as many as have room in this height."""
    return list(plots[: max(height_px // LEAST_PX, 1)])


def _plot(name: str, unit: str, curves: Sequence[Curve], note: str = "") -> PlotSpec:
    return PlotSpec(FieldRef(None, name), name, "", unit, tuple(curves), note)


def _line(name: str, colour: str, values: Array) -> Curve:
    rows = ArrayRows(values)
    return Curve(name, colour, rows, Decimator(rows))


def _own(
    analysis: Analysis, values: Array, envs: Sequence[int], focus: int | None
) -> list[Curve]:
    """The scene's time in each environment's own steps."""
    rows = ArrayRows(values)
    return [
        Curve(
            f"env {env}",
            env,
            HeldRows(values, analysis.rows_of(env)),
            TurnDecimator(rows, analysis.turns_of(env)),
            pale=focus is not None and env != focus,
            waits=True,
        )
        for env in envs
    ]


def _held(analysis: Analysis, env: int, focus: int | None) -> Curve:
    """An environment's control time as a staircase."""
    rows = HeldRows(analysis.control_s, analysis.rows_of(env))
    pale = focus is not None and env != focus
    return Curve(f"env {env}", env, rows, Decimator(rows), pale=pale)


def _more(document: Document, envs: Sequence[int]) -> str:
    shown = len(document.shown_envs)
    return f"{len(envs)} of {shown} environments" if len(envs) < shown else ""


def _known(values: Array) -> bool:
    return bool(np.isfinite(values).any())


def _goes(control_s: Array) -> bool:
    """Whether a control time is known beyond the resets, which stand at 0."""
    return bool((control_s > 0).any())
