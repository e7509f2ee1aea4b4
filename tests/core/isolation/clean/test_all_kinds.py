"""The clean runs are a hundred, of every kind."""

from __future__ import annotations

from isoscope.core.envs.tasks.registry import TASKS
from tests.core.isolation.clean.runs import ALWAYS, MODES, RUNS, named


def test_there_is_a_run_of_every_kind() -> None:
    assert len({named(run) for run in RUNS}) == len(RUNS) == 100
    assert set(ALWAYS) <= {named(run) for run in RUNS}
    quick = [run for run in RUNS if not run["workers"]]
    assert len(quick) > 60
    for task in TASKS:
        mine = [run for run in quick if run["task"] == task]
        kinds = {(run["scene"], run["autoreset"]) for run in mine}
        assert len(kinds) == 3 * len(MODES)
    assert {run["precision"] for run in quick} == {"float32", "float64"}
