"""Who steps which environments, and what each worker spends a turn on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.costs.naming import Stage
from isoscope.core.costs.report import WorkerCosts
from isoscope.core.costs.samples import Phase, What
from isoscope.core.costs.spread import Spread

if TYPE_CHECKING:
    from isoscope.core.costs.columns import Columns
    from isoscope.core.costs.tree import Own, Tree
    from isoscope.core.recording.labelled.records import Identity
    from isoscope.core.recording.tracks import Array

BATCH = -1  # no single environment: a batch, or a vector environment as a whole


class Crew:
    """Which worker an environment belongs to.

    As the identity says, K environments a process; or else by the processes that took
    their native steps.
    """

    def __init__(self) -> None:
        self._each: int | None = None
        self._process: dict[int, int] = {}
        self._seen = 0

    def update(self, native: Columns, identity: Identity) -> None:
        """Take in the native steps that came since."""
        self._each = identity.environments_per_process
        stop = len(native)
        env = native["env"][self._seen : stop]
        process = native["process"][self._seen : stop]
        found, first = np.unique(env, return_index=True)
        for one, at in zip(found.tolist(), first.tolist(), strict=True):
            if one >= 0 and process[at] >= 0:
                self._process.setdefault(one, int(process[at]))
        self._seen = stop

    def worker_of(self, env: int) -> int:
        """The worker's number, from 0; `BATCH` for no single environment."""
        if env < 0:
            return BATCH
        if self._each:
            return env // self._each
        processes = list(dict.fromkeys(self._process.values()))
        own = self._process.get(env)
        return processes.index(own) if own is not None else 0


def worker_costs(
    tree: Tree,
    crew: Crew,
    values: Array,
    own: Own,
    env: Array,
    phase: Array,
    what: Array,
) -> tuple[WorkerCosts, ...]:
    """What each worker spends a turn on; the longest turn first, a whole one last.

    Parameters
    ----------
    values, env, phase, what
        The samples of a window; see `Samples`.
    own
        Of the same samples.
    """
    by_worker: dict[int, list[int]] = {}
    for one in np.unique(env).tolist():
        by_worker.setdefault(crew.worker_of(one), []).append(one)
    steady = (phase == Phase.STEADY) & (what == What.STEP)
    tops = [node.kind for node in tree.tops]
    step_s = np.nansum(values[:, tops], axis=1) if tops else np.zeros(len(env))
    by_stage = _by_stage(tree, own, len(env))
    several = len(by_worker) > 1
    out = []
    for worker, envs in by_worker.items():
        turn_s, stages = 0.0, dict.fromkeys(by_stage, 0.0)
        mine = np.isin(env, envs)
        for one in envs:
            rows = np.flatnonzero(steady & (env == one))
            if not len(rows):
                continue
            turn_s += float(step_s[rows].mean())
            for stage, seconds in by_stage.items():
                stages[stage] += float(seconds[rows].mean())
        steps = step_s[steady & mine]
        waits = step_s[mine & (what == What.WAIT) & (phase == Phase.STEADY)]
        if not len(steps) and not len(waits):
            continue
        out.append(
            WorkerCosts(
                name=_name(worker, several),
                envs=tuple(e for e in envs if e >= 0),
                stages={stage: s for stage, s in stages.items() if s},
                turn_s=turn_s,
                wait_s=float(waits.mean()) if len(waits) else float("nan"),
                step=Spread.of(steps),
            )
        )
    return tuple(sorted(out, key=lambda w: (not w.envs, -w.turn_s)))


def _name(worker: int, several: bool) -> str:
    if worker != BATCH:
        return f"worker {worker}"
    return "vector environment" if several else "the batch"


def _by_stage(tree: Tree, own: Own, samples: int) -> dict[Stage, Array]:
    """Seconds [samples] by stage; no time is in two of them."""
    found: dict[Stage, Array] = {}
    for node in tree.nodes.values():
        seconds = np.nan_to_num(own.values[node.kind])
        found[node.stage] = found.get(node.stage, np.zeros(samples)) + seconds
    return {stage: found[stage] for stage in Stage if stage in found}
