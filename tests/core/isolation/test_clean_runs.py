"""Clean runs of the simulator, whatever the task, scene, autoreset and vector kind.

Nothing is wrong in them, so nothing may be found: 10 always, all 100 where there is
time for it.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.core.envs.tasks.registry import TASKS
from tests.core.isolation.demo_audit import audited

if TYPE_CHECKING:
    from pathlib import Path

MODES = ("next_step", "same_step", "disabled")
WORKERS = (0, 2)  # in turn in this process, or two processes with two each
# A fifth of the runs in single precision, in every combination over the whole list.
PRECISIONS = ("float64", "float64", "float32", "float64", "float64")


def all_runs() -> list[dict[str, Any]]:
    """The 100 of them: every task in every kind of scene, mode and vector."""
    kinds = [*product(("shared", "independent"), WORKERS), ("resident", 0)]
    runs = []
    for task, (scene, workers), mode in product(sorted(TASKS), kinds, MODES):
        precision = PRECISIONS[len(runs) % len(PRECISIONS)]
        told = {"task": task, "scene": scene, "workers": workers, "autoreset": mode}
        runs.append({**told, "precision": precision, "envs": 4, "seed": len(runs)})
    # The rest: the same again at the other end, with odd numbers and another policy.
    for k, run in enumerate(runs[:: len(runs) // (100 - len(runs))]):
        more = {"policy": "smooth", "seed": 1000 + k, "envs": 6, "workers": 0}
        runs.append({**run, **more})
    return runs[:100]


RUNS = all_runs()
# Each task, scene, mode, vector kind and precision among them; workers take longest to
# start, so there is one run with some.
ALWAYS = (0, 4, 13, 17, 21, 31, 37, 57, 62, 72)


def named(run: dict[str, Any]) -> str:
    """A run in words."""
    vector = f"{run['workers']}-workers" if run["workers"] else "in-turn"
    return "-".join(
        (run["task"], run["scene"], vector, run["autoreset"], str(run["seed"]))
    )


def test_there_is_a_run_of_every_kind() -> None:
    assert len(RUNS) == len({named(run) for run in RUNS}) == 100
    few = [RUNS[k] for k in ALWAYS]
    for key in ("task", "scene", "autoreset", "workers", "precision"):
        assert {run[key] for run in few} == {run[key] for run in RUNS}, key


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(run, id=named(run), marks=[] if k in ALWAYS else pytest.mark.slow)
        for k, run in enumerate(RUNS)
    ],
)
def test_nothing_is_found_in_a_clean_run(tmp_path: Path, run: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    said, about = audited(tmp_path, **run)
    assert about["rows"] > 30
    assert [f"{f.severity}: {f.message}" for f in said.findings] == []
