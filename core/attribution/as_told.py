"""The attribution of a recording that tells whose each step was, if its states agree.

Where every step says whose it was and begins in the very state that the same
environment's step before left, there is nothing to search for: no restore was missed,
nothing was rewound. One pass over the columns shows that. At the first thing that is
not so, the whole search has to answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.mean_velocity import MeanVelocity
from isoscope.core.attribution.result import Attribution
from isoscope.core.errors import CancelledError
from isoscope.core.recording.model import Labels, StepKind

if TYPE_CHECKING:
    from isoscope.core.attribution.predictor import Motion, Predictor
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

RESET_H_S = 1e-5  # the engine's environments step once by this when they are reset
BLOCK = 16384


def as_told(
    recording: Recording,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    predictor: Predictor | None = None,
) -> Attribution | None:
    """Whose each step was, as told; None where the states have to be searched.

    It is what `isoscope.core.attribution.attributor.attribute` finds, but for
    `Attribution.margin_m`, which is NaN, and `Attribution.order`, which is None: no
    other candidate was looked at, and no order was needed.

    Parameters
    ----------
    recording
        All of it is taken in; its labels are those of who saw the steps happen.
    progress
        Told native steps (done, in all).
    cancelled
        Asked between blocks.
    predictor
        What is known of the integrator; the default is for the SuperDex recorder.

    Raises
    ------
    CancelledError
        If `cancelled` said so.
    """
    told = _Told.of(recording)
    if told is None:
        return None
    predictor = predictor or MeanVelocity(recording)
    rows = len(told)
    states = _States(told, predictor)
    for start in range(0, rows, BLOCK):
        if cancelled is not None and cancelled():
            raise CancelledError(
                f"attributing {recording.name} was stopped at native step {start}"
            )
        stop = min(start + BLOCK, rows)
        if not states.agree(predictor.read(start, stop)):
            return None
        if progress is not None:
            progress(stop, rows)
    return _result(recording, told, states, predictor)


@dataclass(frozen=True, slots=True)
class _Told:
    """Labels in which nothing is missing or odd.

    `before` [T] is the same environment's step before, -1 for the first; `order` [T]
    are the rows by environment.
    """

    labels: Labels
    h_s: Array
    reset: BoolArray
    before: Int64Array
    order: Int64Array
    substeps: int

    def __len__(self) -> int:
        return len(self.reset)

    @classmethod
    def of(cls, recording: Recording) -> _Told | None:
        """The labels, if each control step is whole and each episode has its reset."""
        rows = len(recording)
        said = recording.labels
        if said is None or not rows or len(said) < rows:
            return None
        names = ("env", "episode", "control_step", "substep")
        columns = {name: np.array(getattr(said, name)[:rows]) for name in names}
        labels = Labels(**columns, kind=np.array(said.kind[:rows]))
        h_s = np.array(recording.steps.h_s[:rows], np.float64)
        reset = labels.kind == StepKind.RESET
        by_length = np.abs(h_s - RESET_H_S) <= 1e-4 * RESET_H_S
        short = [(labels.env < 0).any(), (labels.episode < 1).any()]
        short += [(labels.substep < 0).any(), (reset != by_length).any()]
        short += [(labels.kind[~reset] != StepKind.SUBSTEP).any()]
        short += [(~(np.isfinite(h_s) & (h_s > 0))).any()]
        count = int(labels.substep.max()) + 1
        if any(short) or count < 2:
            return None
        env = labels.env
        small = env.astype(np.int16) if env.max() < 2**15 else env
        order = np.argsort(small, kind="stable").astype(np.int64)
        told = cls(labels, h_s, reset, _before(env, order), order, count)
        return told if told._counts_on() else None

    def _counts_on(self) -> bool:
        """Whether control steps count on, whole and one after the other."""
        labels, reset, before = self.labels, self.reset, self.before
        if (before < 0)[~reset].any():
            return False  # an environment that was joined in the middle
        at = labels.control_step.astype(np.int64) * self.substeps + labels.substep
        if (at[reset] != 0).any():
            return False
        step = np.flatnonzero(~reset)
        earlier = before[step]
        expected = np.where(reset[earlier], self.substeps, at[earlier] + 1)
        if (at[step] != expected).any():
            return False
        if (labels.episode[step] != labels.episode[earlier]).any():
            return False
        inner = labels.substep[step] > 0
        if (earlier[inner] != step[inner] - 1).any():
            return False
        ends = np.ones(len(self), np.bool_)
        ends[earlier] = False
        ends[-1] = False  # the recording's end may cut a control step short
        whole = reset | (labels.substep == self.substeps - 1)
        return bool(whole[ends].all())


def _before(env: Array, order: Int64Array) -> Int64Array:
    out = np.full(len(order), -1, np.int64)
    same = np.flatnonzero(np.diff(env[order]) == 0) + 1
    out[order[same]] = order[same - 1]
    return out


class _States:
    """Holds each environment's last state, and compares the next one's begin with it.

    Attributes
    ----------
    residual_m
        float64 [T], as in `Attribution`.
    """

    def __init__(self, told: _Told, predictor: Predictor) -> None:
        self._told, self._predictor = told, predictor
        self.residual_m = np.full(len(told), np.nan)
        self._last: Array = np.zeros((int(told.labels.env.max()) + 1, 0))
        self._resets: dict[bytes, list[int]] = {}

    def agree(self, motion: Motion) -> bool:
        """Whether each step of a block goes on from its environment's last state."""
        told, layout = self._told, self._predictor.layout
        start, stop = motion.start, motion.stop
        columns = motion.end.shape[1]
        if not columns or (start and self._last.shape[1] != columns):
            return False
        if not start:
            self._last = np.full((len(self._last), columns), np.nan)
        env = told.labels.env[start:stop]
        before = told.before[start:stop]
        reset = told.reset[start:stop]
        if not (np.isfinite(motion.end) & np.isfinite(motion.moved)).any(axis=1).all():
            return False
        inside = before >= start
        begin = self._last[env]
        begin[inside] = motion.end[before[inside] - start]
        off = np.abs((motion.end - begin) - motion.moved)
        unknown = np.isnan(off)
        metres = layout.metres
        far = off > motion.tight
        if far[~reset].any():
            return False
        seen = ~unknown[:, metres]
        if not seen.any(axis=1)[~reset].all():
            return False
        worst = np.where(seen, off[:, metres], 0.0).max(axis=1, initial=0.0)
        self.residual_m[start:stop] = np.where(reset, np.nan, worst)
        for row in np.flatnonzero(reset).tolist():
            state = motion.end[row].tobytes()
            self._resets.setdefault(state, []).append(start + row)
        self._last[env] = motion.end  # of several rows the last one counts
        return True

    @property
    def equal_resets(self) -> list[tuple[int, ...]]:
        """As in `Attribution`."""
        return sorted(tuple(rows) for rows in self._resets.values() if len(rows) > 1)


def _result(
    recording: Recording, told: _Told, states: _States, predictor: Predictor
) -> Attribution:
    rows, labels, reset = len(told), told.labels, told.reset
    heads = np.flatnonzero(reset[told.order])
    track = np.empty(rows, np.int32)
    number = np.argsort(np.argsort(told.order[heads], kind="stable"), kind="stable")
    length = np.diff(np.concatenate([heads, [rows]]))
    track[told.order] = np.repeat(number, length)
    scene_s = np.empty(rows)
    h_s = told.h_s[told.order]
    for head, count in zip(heads.tolist(), length.tolist(), strict=True):
        own = told.order[head : head + count]
        scene_s[own] = np.cumsum(h_s[head : head + count])
    pairs = labels.env.astype(np.int64) << 32 | labels.episode.astype(np.int64)
    return Attribution(
        labels,
        linked=np.ones(rows, np.bool_),
        residual_m=states.residual_m,
        margin_m=np.full(rows, np.nan),
        confidence=np.ones(rows),
        reason=np.zeros(rows, np.int8),
        parent=np.where(reset, -1, told.before).astype(np.int32),
        track=track,
        scene_time_s=scene_s,
        scene_time_since_s=scene_s.copy(),
        environments=len(np.unique(labels.env)),
        episodes=len(np.unique(pairs)),
        substeps=told.substeps,
        substeps_how=recording.name,
        equal_resets=states.equal_resets,
        displaced=np.zeros(rows, np.bool_),
        precision=dict(predictor.precision),
    )
