"""What is told without a profiler: wall times between steps, the solver's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.costs.report import SolverCosts, WallCosts
from isoscope.core.costs.spread import Spread

if TYPE_CHECKING:
    from isoscope.core.costs.columns import Columns
    from isoscope.core.costs.report import Window
    from isoscope.core.recording.labelled.records import Identity
    from isoscope.core.recording.tracks import Array, BoolArray


def solver_costs(
    native: Columns, transitions: Columns, window: Window, identity: Identity
) -> SolverCosts:
    """Statuses, iterations and residuals of the window's native steps."""
    inside = rows_inside(native, transitions, window)
    status = native["solver_status"][inside]
    status = status[status >= 0]
    numbers, counts = np.unique(status, return_counts=True)
    names = identity.solver_statuses
    statuses = {
        names.get(number, f"status {number}"): count
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
    }
    iterations = native["solver_iterations"][inside]
    return SolverCosts(
        told=len(status),
        statuses=statuses,
        iterations=Spread.of(iterations[iterations >= 0].astype(np.float64)),
        residual=Spread.of(native["solver_residual"][inside]),
    )


def wall_costs(native: Columns, transitions: Columns, window: Window) -> WallCosts:
    """Times from one end to the next, by the wall's clock."""
    inside = rows_inside(native, transitions, window)
    wall = native["wall_ns"]
    goes_on = inside[1:] & inside[:-1] & (wall[1:] >= 0) & (wall[:-1] >= 0)
    for name in ("process", "env", "control_step"):
        column = native[name]
        goes_on &= (column[1:] == column[:-1]) & (column[1:] >= 0)
    native_s = np.diff(wall)[goes_on] * 1e-9
    chosen = np.flatnonzero(_transitions_inside(transitions, window))
    env, ends = transitions["env"][chosen], transitions["wall_ns"][chosen]
    order = np.argsort(env, kind="stable")
    env, ends = env[order], ends[order]
    same = (env[1:] == env[:-1]) & (env[1:] >= 0) & (ends[1:] >= 0) & (ends[:-1] >= 0)
    return WallCosts(Spread.of(native_s), Spread.of(np.diff(ends)[same] * 1e-9))


def rows_inside(native: Columns, transitions: Columns, window: Window) -> BoolArray:
    """Bool [native rows]: which of them are in the window."""
    inside = np.ones(len(native), np.bool_)
    if window.rows is not None:
        inside[:] = False
        inside[max(window.rows[0], 0) : max(window.rows[1] + 1, 0)] = True
    if window.last_steps is not None:
        begins = _begins(transitions, window.last_steps)
        inside &= np.arange(len(native)) > _looked_up(begins, native["env"])
    return inside


def _transitions_inside(transitions: Columns, window: Window) -> BoolArray:
    last_row = transitions["last_row"]
    inside = np.ones(len(transitions), np.bool_)
    if window.rows is not None:
        inside = (last_row >= window.rows[0]) & (last_row <= window.rows[1])
    if window.last_steps is not None:
        begins = _begins(transitions, window.last_steps)
        inside &= last_row > _looked_up(begins, transitions["env"])
    return inside


def _begins(transitions: Columns, many: int) -> dict[int, int]:
    """By environment the last native row before its last so many control steps."""
    env, last_row = transitions["env"], transitions["last_row"]
    found = {}
    for one in np.unique(env).tolist():
        own = last_row[env == one]
        found[one] = int(own[-many - 1]) if len(own) > many else -1
    return found


def _looked_up(by_env: dict[int, int], env: Array) -> Array:
    found, which = np.unique(env, return_inverse=True)
    values = np.array([by_env.get(one, -1) for one in found.tolist()], np.int64)
    looked_up: Array = (
        values[which.reshape(-1)] if len(found) else np.zeros(0, np.int64)
    )
    return looked_up
