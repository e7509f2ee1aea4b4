"""A branch's run as something to be looked at beside the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.branch.running import tape_of
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.past_end import Continued, PastEnd, past_end
from isoscope.core.replay.states import Keeper, Replayed

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.run import BranchRun
    from isoscope.core.replay.tape import Tape


def looked_at(examined: Examined, run: BranchRun) -> Replayed:
    """Its states over the recording's rows, and those past the recorded end.

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
    return Replayed(
        run.branch.name,
        run.report,
        keeper.states(examined.recording),
        _past_end(examined, run, tape),
    )


def _past_end(examined: Examined, run: BranchRun, tape: Tape) -> PastEnd | None:
    past, after = np.flatnonzero(run.rows < 0), run.last_recorded
    if not len(past) or after < 0:
        return None
    fields = []
    for one in tape.states:
        here = run.states.get((one.actor, one.name))
        if here is None:
            continue
        window = one.track.read(after, after + 1)
        last = np.array(window.values[0]) if window.valid[0] else None
        values = np.ascontiguousarray(here[past])
        fields.append(Continued(one.actor, one.name, one.rotation, values, last))
    branch = run.branch
    places = (
        branch.env,
        branch.episode,
        run.control_steps[past],
        run.substeps[past],
    )
    return past_end(examined.recording, after, fields, run.h_s[past], places)
