"""A plot of a shared scene, split into one line an environment; no Qt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.core.series import component_count, component_names, is_numeric, track_of
from isoscope.core.turns import TurnDecimator
from isoscope.widgets.signals.resolve import Curve

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.recording.model import Recording
    from isoscope.core.series import FieldRows
    from isoscope.widgets.session import Document, FieldRef
    from isoscope.widgets.signals.resolve import PlotSpec

MOST_ENVS = 8  # drawn together: as many as there are colours
MOST_LINES = 16
MOST_APART = 3  # components that get a plot each


class OwnRows:
    """One environment's values: between its turns the last one holds."""

    def __init__(self, rows: FieldRows, analysis: Analysis, env: int) -> None:
        self._rows, self._analysis, self._env = rows, analysis, env

    def at(self, row: int) -> float | None:
        """The number in its last own row at or before this one; None where none is."""
        own = self._analysis.last_row(self._env, row)
        return self._rows.at(own) if own >= 0 else None


def chosen_envs(shown: tuple[int, ...], focus: int | None) -> tuple[int, ...]:
    """The environments to draw; the one that is looked at comes last, so on top.

    Where they are too many to be told apart, it is drawn alone.
    """
    if focus is None:
        return shown[:MOST_ENVS]
    if len(shown) > MOST_ENVS:
        return (focus,)
    return (*(env for env in shown if env != focus), focus)


def split(
    spec: PlotSpec, analysis: Analysis, shown: tuple[int, ...], focus: int | None
) -> PlotSpec:
    """The same plot with a line for each environment instead of one through all.

    Parameters
    ----------
    shown
        Environments that the user wants to see.
    focus
        The one that is looked at: the others are drawn pale.
    """
    if not spec.curves or spec.ref.actor is None:
        return spec  # what belongs to the scene itself belongs to no environment
    envs = chosen_envs(shown, focus)
    most = max(MOST_LINES // max(len(envs), 1), 1)
    base = spec.curves[:most]
    curves = [
        Curve(
            name=f"env {env}" if len(base) == 1 else f"{env} {curve.name}",
            colour=env,
            rows=OwnRows(curve.series, analysis, env),
            decimator=TurnDecimator(
                curve.series,
                analysis.turns_of(env),
                curve.series.recording.steps.spill,
            ),
            pale=focus is not None and env != focus,
            shade=order,
            waits=True,
            series=curve.series,
        )
        for env in envs
        for order, curve in enumerate(base)
        if curve.series is not None
    ]
    notes = [spec.note] if spec.note else []
    if len(envs) < len(shown):
        notes.append(f"{len(envs)} of {len(shown)} environments")
    if len(base) < len(spec.curves):
        notes.append(f"the first {len(base)} of {len(spec.curves)} components")
    # The lines' names are the environments', so the title names the component.
    part = base[0].name if len(spec.curves) == 1 else ""
    field = f"{spec.field} {part}" if part else spec.field
    return replace(spec, field=field, curves=tuple(curves), note=", ".join(notes))


def apart(recording: Recording, refs: list[FieldRef]) -> list[FieldRef]:
    """The same plots with a plot for each component, where these are few.

    Colours tell the environments apart, so that they can't tell components.
    """
    found: list[FieldRef] = []
    for ref in refs:
        track = track_of(recording, ref)
        fixed = track is not None and not track.ragged and is_numeric(track)
        if track is not None and fixed and ref.component is None:
            count = component_count(track)
            if 1 < count <= MOST_APART and component_names(
                ref.field, track.shape, track
            ):
                found += [replace(ref, component=i) for i in range(count)]
                continue
        found.append(ref)
    return found


class Split:
    """The plots that are shown, made of those of all environments together.

    Attributes
    ----------
    bases
        Those of all environments together.
    on
        Whether the ones that are shown have a line for each environment.
    """

    def __init__(self) -> None:
        self.bases: list[PlotSpec] = []
        self.on = False
        self._shown: list[PlotSpec] = []
        self._made_for: object = None

    def specs(
        self, document: Document, bases: list[PlotSpec], wanted: bool
    ) -> list[PlotSpec]:
        """The plots to show; those that need not differ are the same as before."""
        analysis = document.analysis
        if analysis is None or not analysis.shared or not wanted:
            self.on, self._made_for = False, None
            self.bases = self._shown = bases
            return bases
        shown, focus = document.shown_envs, document.focus
        made_for = (id(analysis.attribution), shown, focus)
        known: dict[PlotSpec, PlotSpec] = {}
        if made_for == self._made_for:
            known = dict(zip(self.bases, self._shown, strict=True))
        self.on, self._made_for, self.bases = True, made_for, bases
        self._shown = [
            known.get(base) or split(base, analysis, shown, focus) for base in bases
        ]
        return self._shown
