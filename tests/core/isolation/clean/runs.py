"""Clean runs of the simulator, whatever the task, scene, autoreset and vector kind.

Nothing is wrong in them, so nothing may be found. A file a task, so that its code is
generated once by whoever runs the file.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app.demo.settings import DemoSettings
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.envs.faults.storing import RolloutFault
from isoscope.core.envs.tasks.registry import TASKS
from tests.core.isolation.recorded_demo import WITH_CONTACT, recorded

if TYPE_CHECKING:
    from pathlib import Path

MODES = ("next_step", "same_step", "disabled")
WORKERS = (0, 2)  # in turn in this process, or two processes with two each
# A fifth of the runs in single precision, in every combination over the whole list.
PRECISIONS = ("float64", "float64", "float32", "float64", "float64")
IN_ALL = 100
# By checks of what the consumer stored, and of sensors and profile.
LOOKED_AT = {
    key
    for kind in all_faults().values()
    if issubclass(kind, RolloutFault) and "policy-state" not in kind.NEEDS
    for key in kind.FINDS
}
# Of those with workers, which take seconds to start.
ALWAYS = ("CartPole-shared-2-workers-next_step-3",)
SCENES = ("shared", "independent", "resident")


def all_runs() -> list[dict[str, Any]]:
    """The 100 of them: every task in every kind of scene, mode and vector."""
    kinds = [*product(("shared", "independent"), WORKERS), ("resident", 0)]
    runs = []
    for task, (scene, workers), mode in product(sorted(TASKS), kinds, MODES):
        precision = PRECISIONS[len(runs) % len(PRECISIONS)]
        told = {"task": task, "scene": scene, "workers": workers, "autoreset": mode}
        envs = 4 if workers else 3
        runs.append({**told, "precision": precision, "envs": envs, "seed": len(runs)})
    # The rest: the same again at the other end, with more of them and another policy.
    for k, run in enumerate(runs[:: len(runs) // (IN_ALL - len(runs))]):
        more = {"policy": "smooth", "seed": 1000 + k, "envs": 5, "workers": 0}
        runs.append({**run, **more})
    return runs[:IN_ALL]


def named(run: dict[str, Any]) -> str:
    """A run in words."""
    vector = f"{run['workers']}-workers" if run["workers"] else "in-turn"
    return "-".join(
        (run["task"], run["scene"], vector, run["autoreset"], str(run["seed"]))
    )


RUNS = all_runs()


def is_slow(run: dict[str, Any]) -> bool:
    """Whether a run is left to `make soak`.

    Every task is seen in every kind of scene and in every mode, and every kind of
    scene in every mode, but not all three in every combination.
    """
    if run["workers"]:
        return named(run) not in ALWAYS
    place = sorted(TASKS).index(run["task"]) + SCENES.index(run["scene"])
    return run["envs"] != 3 or run["autoreset"] != MODES[place % len(MODES)]


def runs_of(task: str) -> list[Any]:
    """Parameters for a test: the runs of a task, those that take long marked so."""
    return [
        pytest.param(
            run,
            id=named(run),
            marks=[pytest.mark.slow] if is_slow(run) else [],
        )
        for run in RUNS
        if run["task"] == task
    ]


def expect_nothing(folder: Path, run: dict[str, Any]) -> None:
    """Fail if anything is found in such a run."""
    task_settings = {"max_steps": 3, **WITH_CONTACT.get(run["task"], {})}
    settings = DemoSettings(
        **run, device="cpu", steps=9, frames=True, task_settings=task_settings
    )
    one = recorded(folder, settings)
    assert one.rows > 30
    assert [f"{f.severity}: {f.message}" for f in one.said.findings] == []
    assert one.demo.problems == []
    if not run["workers"]:  # whose rows the consumer's are not told beside
        ran = {check.id for check in one.said.checks if check.ran}
        assert ran >= LOOKED_AT
