"""The clean runs are a hundred, of every kind."""

from __future__ import annotations

from isoscope.core.envs.tasks.registry import TASKS
from tests.core.isolation.clean.runs import ALWAYS, MODES, RUNS, is_slow, named


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


def test_every_task_and_kind_of_scene_is_in_the_ordinary_run() -> None:
    quick = [run for run in RUNS if not is_slow(run)]
    assert len(quick) >= 15
    for task in TASKS:
        mine = [run for run in quick if run["task"] == task]
        assert {run["scene"] for run in mine} == {"shared", "independent", "resident"}
        assert {run["autoreset"] for run in mine} == set(MODES)
    kinds = {(run["scene"], run["autoreset"]) for run in quick}
    assert len(kinds) == 3 * len(MODES)
    assert any(run["workers"] for run in quick)
    assert {run["precision"] for run in quick} == {"float32", "float64"}
