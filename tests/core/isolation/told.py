"""What a consumer stored of a made run: as it was told, but for what is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled.stored import StoredRecorder

if TYPE_CHECKING:
    from tests.core.isolation.building import Run


def last(run: Run) -> int:
    """The number of the transition that was recorded last."""
    intake = run.recorder.intake
    return len(intake.buffers[intake.tables["transitions"]]) - 1


def store(run: Run, number: int, **columns: Any) -> None:
    """Record what was stored of a transition."""
    arrays = {
        name.replace("__", "/"): np.asarray([value]) for name, value in columns.items()
    }
    StoredRecorder(run.recorder).rows(np.array([number]), arrays)


def episodes(run: Run, count: int = 2, steps: int = 4, **last_step: Any) -> Run:
    """Episodes of all environments that end as told, and are reset by themselves."""
    for _ in range(count):
        for env in range(run.envs):
            run.reset(env)
        for k in range(steps):
            for env in range(run.envs):
                run.step(env, **(last_step if k == steps - 1 else {}))
    return run
