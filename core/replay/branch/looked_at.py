"""A branch's run as something to be looked at beside the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.branch.running import tape_of
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.states import Keeper, Replayed

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.run import BranchRun


def looked_at(examined: Examined, run: BranchRun) -> Replayed:
    """Its states over the recording's rows; those past the recorded end are left out.

    Parameters
    ----------
    examined
        The recording that it is a branch of.
    """
    keeper = Keeper(TOLERANCE)
    tape = tape_of(examined, run.branch.env)
    along = np.flatnonzero(run.rows >= 0)
    rows = run.rows[along]
    for one in tape.states:
        here = run.states.get((one.actor, one.name))
        if here is None or not len(rows):
            continue
        start = int(rows[0])
        window = one.track.read(start, int(rows[-1]) + 1)
        n = len(rows)
        recorded = np.ascontiguousarray(window.values[rows - start]).reshape(n, -1)
        valid = np.asarray(window.valid[rows - start])
        mine = np.ascontiguousarray(here[along]).reshape(n, -1)
        keeper.take(run.branch.env, one, rows, recorded, mine, valid, None)
    return Replayed(run.branch.name, run.report, keeper.states(examined.recording))
