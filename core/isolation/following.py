"""The native steps of a window together with what went before them, kept small.

A check that keeps up with a run needs each environment's and each scene's last step
from the windows before. These few rows are put before the window's own, so that the
same code serves a whole recording and the next half second of a live one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.labelled_context import At
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

PLACES = ("env", "scene", "episode", "control_step", "substep", "kind")


class Joined:
    """Native steps in order: carried ones, then a window's own.

    Attributes
    ----------
    row
        int64 [n]: their numbers, ascending.
    new
        How many of them, at the end, are the window's own.
    columns
        [n] by name: `PLACES` and what was asked for.
    """

    def __init__(
        self,
        row: Array,
        columns: Mapping[str, Array],
        new: int,
        substeps: int | None,
    ) -> None:
        self.row = row
        self.columns = columns
        self.new = new
        self.substeps = substeps

    def __len__(self) -> int:
        """Steps, carried ones included."""
        return len(self.row)

    def __getitem__(self, name: str) -> Array:
        """A column."""
        return self.columns[name]

    @property
    def first_new(self) -> int:
        """Index of the window's first own step."""
        return len(self.row) - self.new

    @cached_property
    def reset(self) -> BoolArray:
        """Bool [n]: steps that a reset takes."""
        return np.asarray(self["kind"] == StepKind.RESET)

    @cached_property
    def before_env(self) -> Int64Array:
        """int64 [n]: index of the same environment's step before; -1 none."""
        return _before(self["env"], self._env_order)

    @cached_property
    def before_scene(self) -> Int64Array:
        """int64 [n]: index of the scene's step before; -1 none."""
        return _before(self["scene"], _order(self["scene"]))

    @cached_property
    def _env_order(self) -> Int64Array:
        return _order(self["env"])

    @cached_property
    def _by_env(self) -> tuple[Array, Array]:
        """The environments, ascending, and where each begins in `_env_order`."""
        env = self["env"][self._env_order]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(env)) + 1, [len(env)]])
        return env[starts[:-1]] if len(env) else env, starts

    def of(self, env: int) -> Int64Array:
        """int64 [k]: indices of one environment's steps, ascending."""
        envs, starts = self._by_env
        at = int(np.searchsorted(envs, env))
        if at >= len(envs) or envs[at] != env:
            return self._env_order[:0]
        return self._env_order[starts[at] : starts[at + 1]]

    def last_of(self, env: int, row: int) -> int:
        """Index of an environment's last step before this native row; -1 if none."""
        own = self.of(env)
        at = int(np.searchsorted(self.row[own], row)) - 1
        return int(own[at]) if at >= 0 else -1

    def at(self, index: int) -> At:
        """Where the environment of a step was."""
        return At(
            _known(self["episode"], index),
            _known(self["control_step"], index),
        )

    def about(self, env: int, row: int) -> At:
        """Where an environment was between two native steps, before `row`.

        In the control step whose substeps it has not done yet, else in the next one.
        """
        last = self.last_of(env, row)
        if last < 0:
            return At(None, None)
        where = self.at(last)
        if where.control_step is None or self.substeps is None:
            return where
        substep = int(self["substep"][last])
        whole = substep < 0 or substep + 1 >= self.substeps
        if bool(self.reset[last]) or whole:
            return At(where.episode, where.control_step + 1)
        return where

    def native(self, row: int) -> tuple[int, int] | None:
        """The range to show for something that happened before this native row."""
        if not len(self.row) or row < 0:
            return None
        at = min(row, int(self.row[-1]))
        return at, at


class Carry:
    """What is kept from window to window: the last steps.

    Parameters
    ----------
    columns
        Columns of the native steps that a check needs besides `PLACES`; digests by
        ``before``, ``after`` and ``configuration`` as keys.
    """

    def __init__(self, *columns: str) -> None:
        self._names = (*PLACES, *columns)
        self._row: Int64Array = np.zeros(0, np.int64)
        self._kept: dict[str, Array] = {}
        self._substeps: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return self._row.nbytes + sum(c.nbytes for c in self._kept.values())

    def join(self, window: LabelledContext) -> Joined:
        """A window's steps behind those that were kept; keeps the last ones of both."""
        steps = window.steps
        row = np.arange(steps.first, steps.stop, dtype=np.int64)
        columns = {name: _column(window, name) for name in self._names}
        if self._kept:
            row = np.concatenate([self._row, row])
            columns = {
                name: np.concatenate([self._kept[name], column])
                for name, column in columns.items()
            }
        substeps = window.substeps
        if substeps is not None:
            self._substeps = max(substeps, self._substeps or 0)
        joined = Joined(row, columns, len(steps), self._substeps)
        last = np.union1d(_last_of_each(joined["env"]), _last_of_each(joined["scene"]))
        self._row = row[last]
        self._kept = {name: column[last] for name, column in columns.items()}
        return joined


def _column(window: LabelledContext, name: str) -> Array:
    if name in ("before", "after"):
        return window.digests(name)
    if name == "configuration":
        found: Array = window.steps.configuration
        return found
    return window.steps.column(name)


def _last_of_each(column: Array) -> Int64Array:
    """int64 [k]: the last index of each value, ascending."""
    _, first = np.unique(column[::-1], return_index=True)
    return np.sort(len(column) - 1 - first).astype(np.int64)


def _order(column: Array) -> Int64Array:
    """Indices by value, ascending within each; linear time for small numbers."""
    small = column
    if len(column) and -(2**15) <= column.min() and column.max() < 2**15:
        small = column.astype(np.int16)
    return np.argsort(small, kind="stable").astype(np.int64)


def _before(column: Array, order: Int64Array) -> Int64Array:
    out = np.full(len(order), -1, np.int64)
    value = column[order]
    same = np.flatnonzero((value[1:] == value[:-1]) & (value[1:] >= 0)) + 1
    out[order[same]] = order[same - 1]
    return out


def _known(column: Array, index: int) -> int | None:
    value = int(column[index])
    return value if value >= 0 else None
