"""Steps a model from recorded states: one step each, or a whole episode freely.

All predictions are worlds of one batch, so a recording takes a few calls of the
simulator, not one a step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from isoscope.core.replay.differences import sizes
from isoscope.core.replay.fields import take
from isoscope.core.replay.stand_in.states import in_order, sequences

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array, BoolArray
    from isoscope.core.replay.stand_in.fitting import FieldPair, Fit
    from isoscope.core.replay.stand_in.inputs import Driving
    from isoscope.core.replay.stand_in.states import Sequence
    from isoscope.core.scene import Scene

CAUSE = "stand in"
MOST_WORLDS = 512
LOOKED_AT = 64  # states, to see whether places are the same
SAME_PLACE = 1e-4  # times (1 + the larger value): float32's rounding is far below
Setter: TypeAlias = "Callable[..., None]"
SceneOf: TypeAlias = "Callable[[int], Scene]"  # of so many worlds of the model


@dataclass(slots=True, eq=False)
class Compared:
    """Predicted and recorded values of one field.

    Attributes
    ----------
    rows
        int64 [n]: the recorded native rows that were predicted.
    predicted, recorded
        [n, *shape].
    before
        [n, *shape]: the recorded value one step before, to tell how far a step goes.
    """

    rows: list[int] = field(default_factory=list)
    predicted: list[Array] = field(default_factory=list)
    recorded: list[Array] = field(default_factory=list)
    before: list[Array] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Predicted:
    """What a way of predicting gave, a `Compared` a field of the fit.

    Attributes
    ----------
    steps
        Native steps predicted.
    skipped
        Steps that could not be, since the state before them isn't known.
    undriven
        Steps for which nothing told what drove them, where something told of others.
    ahead
        int64 [steps]: how many steps after its beginning each was.
    """

    fields: list[Compared]
    steps: int = 0
    skipped: int = 0
    undriven: int = 0
    ahead: list[int] = field(default_factory=list)


class Predictor:
    """Predicts the steps of a recording by a model.

    Parameters
    ----------
    env, start, steps
        The environment (None for all), the native row to begin at, and control steps of
        each environment (None for all).
    """

    def __init__(
        self,
        examined: Examined,
        make: SceneOf,
        fit: Fit,
        driving: Driving,
        env: int | None = None,
        start: int = 0,
        steps: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._examined, self._make, self._fit = examined, make, fit
        self._driving, self._progress = driving, progress
        self._h = examined.recording.steps.h_s
        self._labels = examined.attribution.labels
        self._parts = [
            part
            for one in sequences(examined, env)
            if len((part := _within(one, start)).rows)
        ]
        if steps is not None:
            self._parts = _first_steps(self._parts, steps, self._labels.control_step)

    def settle(self) -> dict[str, float]:
        """Leave out fields of place that the model has elsewhere in the same state.

        An engine may lay a link's frame into its joint, another into its centre: then
        all steps would differ by that, and show nothing.

        Returns
        -------
        dict
            Of each field left out, by how much it is elsewhere, in its unit.
        """
        rows = np.concatenate([part.rows for part in self._parts] or [np.empty(0, int)])
        before = np.concatenate([p.before for p in self._parts] or [np.empty(0, int)])
        if not len(rows):
            return {}
        states, known = in_order(self._fit, rows, before, self._h[rows])
        chosen = np.flatnonzero(known)[:LOOKED_AT]
        if not len(chosen):
            return {}
        scene = self._make(len(chosen))
        elsewhere: dict[str, float] = {}
        try:
            self._set(scene, [(q[chosen], v[chosen]) for q, v in states])
            for pair in self._fit.fields:
                there, valid = _flat(take(pair.track, rows[chosen]))
                here = scene.read(pair.row, pair.name).reshape(len(chosen), -1)
                if pair.kind != "pose" or not valid.any() or here.shape != there.shape:
                    continue
                off, scale = sizes(there[valid], here[valid], pair.rotation)
                if (off > SAME_PLACE * (1 + scale)).any():
                    elsewhere[pair.full_name] = float(off.max())
        finally:
            scene.close()
        kept = [f for f in self._fit.fields if f.full_name not in elsewhere]
        self._fit = replace(self._fit, fields=kept)
        return elsewhere

    @property
    def fields(self) -> list[FieldPair]:
        """What is compared."""
        return self._fit.fields

    def one_step(self) -> Predicted:
        """Each step from the recorded state before it."""
        out = Predicted([Compared() for _ in self._fit.fields])
        if not self._parts:
            return out
        rows = np.concatenate([part.rows[1:] for part in self._parts])
        starts = np.concatenate([part.rows[:-1] for part in self._parts])
        before = np.concatenate([part.before[:-1] for part in self._parts])
        out.skipped += len(self._parts)
        if not len(rows):
            return out
        states, known = in_order(self._fit, starts, before, self._h[starts])
        known &= np.isfinite(self._h[rows])
        out.skipped += int((~known).sum())
        states = [(q[known], v[known]) for q, v in states]
        rows, starts = rows[known], starts[known]
        if not len(rows):
            return out
        worlds = min(len(rows), MOST_WORLDS)
        scene = self._make(worlds)
        try:
            for first in range(0, len(rows), worlds):
                if self._progress is not None:
                    self._progress(first, len(rows))
                part = slice(first, min(first + worlds, len(rows)))
                some = [(q[part], v[part]) for q, v in states]
                self._set(scene, some)
                active = np.arange(part.stop - part.start)
                self._step(scene, rows[part], active, out)
                self._compare(scene, rows[part], starts[part], active, out, ahead=1)
        finally:
            scene.close()
        return out

    def free(self) -> Predicted:
        """All of each episode from its first known state on."""
        out = Predicted([Compared() for _ in self._fit.fields])
        ready: list[tuple[Sequence, int, list[tuple[Array, Array]]]] = []
        for part in self._parts:
            states, known = in_order(
                self._fit, part.rows, part.before, self._h[part.rows]
            )
            if not known.any() or known.argmax() + 1 >= len(part.rows):
                out.skipped += len(part.rows)
                continue
            at = int(known.argmax())
            out.skipped += at + 1
            ready.append(
                (part, at, [(q[at : at + 1], v[at : at + 1]) for q, v in states])
            )
        for begin in range(0, len(ready), MOST_WORLDS):
            self._run(ready[begin : begin + MOST_WORLDS], out)
        return out

    def _run(
        self,
        ready: list[tuple[Sequence, int, list[tuple[Array, Array]]]],
        out: Predicted,
    ) -> None:
        scene = self._make(len(ready))
        try:
            whole = [
                tuple(np.concatenate([one[2][k][i] for one in ready]) for i in (0, 1))
                for k in range(len(self._fit.bodies))
            ]
            self._set(scene, whole)  # type: ignore[arg-type]  # pairs
            longest = max(len(part.rows) - at for part, at, _ in ready)
            for ahead in range(1, longest):
                if self._progress is not None:
                    self._progress(ahead, longest)
                active = np.array(
                    [
                        k
                        for k, (p, at, _) in enumerate(ready)
                        if at + ahead < len(p.rows)
                    ]
                )
                rows = np.array([ready[k][0].rows[ready[k][1] + ahead] for k in active])
                starts = np.array(
                    [ready[k][0].rows[ready[k][1] + ahead - 1] for k in active]
                )
                self._step(scene, rows, active, out)
                self._compare(scene, rows, starts, active, out, ahead=ahead)
        finally:
            scene.close()

    # -- the scene ---------------------------------------------------------------------

    def _set(self, scene: Scene, states: list[tuple[Array, Array]]) -> None:
        for body, (q, v) in zip(self._fit.bodies, states, strict=True):
            scene.set_state(
                body.scene.index,
                self._up(scene, _filled(q, scene.worlds)),
                self._up(scene, _filled(v, scene.worlds)),
            )

    def _step(self, scene: Scene, rows: Array, active: Array, out: Predicted) -> None:
        """One native step of the active worlds, each by its own row's h and inputs."""
        self._drive(scene, rows, active, out)
        for h_s in np.unique(self._h[rows]).tolist():
            mask = np.zeros(scene.worlds, np.bool_)
            mask[active[self._h[rows] == h_s]] = True
            scene.step(h_s, None if mask.all() else self._up(scene, mask))

    def _drive(self, scene: Scene, rows: Array, active: Array, out: Predicted) -> None:
        driving, labels = self._driving, self._labels
        told = np.ones(len(rows), np.bool_)
        places = [
            (int(labels.env[r]), int(labels.episode[r]), int(labels.control_step[r]))
            for r in rows
        ]
        for actor in scene.actors:
            if actor.index in driving.forces:
                values, there = driving.forces_of(actor.index, rows)
                setter: Setter = scene.set_dof_forces
                size = actor.velocity_size
            elif actor.index in driving.columns:
                values, there = driving.targets_of(actor.index, places)
                setter, size = scene.set_targets, len(actor.drives)
            else:
                continue
            told &= there
            whole = np.zeros((scene.worlds, size))
            whole[active] = np.where(there[:, None], values, 0.0)
            setter(actor.index, self._up(scene, whole))
        out.undriven += int((~told).sum())

    def _compare(
        self,
        scene: Scene,
        rows: Array,
        starts: Array,
        active: Array,
        out: Predicted,
        *,
        ahead: int,
    ) -> None:
        out.steps += len(rows)
        out.ahead += [ahead] * len(rows)
        for pair, one in zip(self._fit.fields, out.fields, strict=True):
            here = scene.read(pair.row, pair.name)[active].reshape(len(rows), -1)
            there, valid = _flat(take(pair.track, rows))
            before, also = _flat(take(pair.track, starts))
            if there.shape != here.shape:
                continue
            kept = valid & also
            one.rows += rows[kept].tolist()
            one.predicted += list(here[kept])
            one.recorded += list(there[kept])
            one.before += list(before[kept])

    @staticmethod
    def _up(scene: Scene, array: Array) -> Array:
        kind = array if array.dtype == np.bool_ else array.astype(scene.precision)
        found: Array = scene.to_device(kind, CAUSE)
        return found


def _flat(taken: tuple[Array, BoolArray]) -> tuple[Array, BoolArray]:
    values, valid = taken
    return values.reshape(len(values), -1).astype(np.float64), valid


def _filled(values: Array, worlds: int) -> Array:
    """The values, with the last one again for worlds that are not needed."""
    missing = worlds - len(values)
    return np.concatenate([values, np.repeat(values[-1:], missing, 0)])


def _within(part: Sequence, start: int) -> Sequence:
    kept = part.rows >= start
    return replace(part, rows=part.rows[kept], before=part.before[kept])


def _first_steps(
    parts: list[Sequence], steps: int, control_step: Array
) -> list[Sequence]:
    """So many control steps of each environment, over its episodes."""
    found, left = [], {part.env: steps for part in parts}
    for part in parts:
        numbers = control_step[part.rows]
        new = np.cumsum(np.diff(numbers, prepend=numbers[0] - 1) != 0)
        kept = new <= left[part.env]
        left[part.env] -= int(new[kept].max(initial=0))
        if kept.any():
            found.append(replace(part, rows=part.rows[kept], before=part.before[kept]))
    return found
