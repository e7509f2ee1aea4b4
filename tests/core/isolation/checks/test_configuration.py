"""config-changed by labels, scene-key, context-threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.isolation.tainting import tainted
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from pathlib import Path


def _leak(run: Run, told: int | None = None) -> Run:
    """Env 1 changes the friction before its 5th control step, and leaves it so."""
    run.resets().steps(4)
    run.step(0)
    run.configure(1, "joint/friction", 0.05, 0.15, told)
    run.step(1)
    run.step(2)
    run.steps(3)
    return run


# -- config-changed --------------------------------------------------------------------


@pytest.mark.parametrize("digests", [True, False])
def test_who_changed_what_and_whom_it_reached(tmp_path: Path, digests: bool) -> None:
    run = _leak(Run(tmp_path, 3, digests=digests))
    found = run.only("config-changed")
    row = 3 + 4 * 6 + 2
    assert (found.env, found.other_env) == (1, 2)
    assert (found.episode, found.control_step) == (1, 5)
    assert found.native == (row - 1, row)
    assert (found.field, found.expected, found.value) == ("joint/friction", 0.05, 0.15)
    assert found.confidence == 1.0
    reached = [(a.env, a.control_step, a.native) for a in found.affected]
    assert reached == [(2, 5, row + 2), (0, 6, row + 4)]
    spoilt = tainted(run.examine(), [found]).rows
    labels = run.examine().attribution.labels
    later = np.arange(len(spoilt)) > row
    np.testing.assert_array_equal(spoilt, later & (labels.env != 1))


def test_a_change_whose_maker_is_not_told(tmp_path: Path) -> None:
    found = _leak(Run(tmp_path, 3), -1).only("config-changed")
    assert found.env == 1  # the first that steps under it
    assert "stepped first after" in found.headline


def test_a_change_after_one_s_own_step_reaches_the_next(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).resets().steps(4)
    run.step(0)
    run.configure(0, "gravity", -9.8, -3.0)  # in its reward, say
    run.step(1)
    run.step(2)
    found = run.steps(2).only("config-changed")
    assert (found.env, found.control_step) == (0, 5)
    assert [a.env for a in found.affected] == [1, 2]


def test_each_sets_its_own_before_its_steps(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    for k in range(6):
        for env in range(2):
            run.configure(env, "gravity", -9.8 + 1 - env, -9.8 + env)
            if k:
                run.step(env)
            else:
                run.reset(env)
    assert run.findings() == []


def test_one_that_is_put_back_in_time(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).resets().steps(4)
    run.step(0)
    run.configure(1, "gravity", -9.8, -3.0)
    run.step(1)
    run.configure(1, "gravity", -3.0, -9.8)
    run.configuration[0] = "usual"
    run.step(2)
    assert run.steps(2).findings() == []


def test_scenes_of_their_own_are_nobody_s_business(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, scenes=[0, 1]).resets().steps(3)
    run.configure(1, "gravity", -9.8, -3.0)
    assert run.steps(3).findings() == []


# -- scene-key -------------------------------------------------------------------------


def test_environments_that_want_different_scenes(tmp_path: Path) -> None:
    run = Run(tmp_path, 3)
    wanted = [{"gravity": [0.0, -9.8, 0.0]}] * 3
    wanted[2] = {"gravity": [0.0, -1.62, 0.0]}
    for env in range(3):
        kind = "acquire" if env else "create"
        run.event(kind, env, detail={"wanted": wanted[env]})
    found = run.resets().steps(3).only("scene-key")
    assert (found.env, found.other_env) == (2, 0)
    assert found.field == "gravity"
    assert found.expected == [0.0, -1.62, 0.0]
    assert found.value == [0.0, -9.8, 0.0]
    assert (found.episode, found.control_step) == (1, 0)
    spoilt = tainted(run.examine(), [found])
    labels = run.examine().attribution.labels
    np.testing.assert_array_equal(spoilt.rows, labels.env == 2)


def test_all_want_the_same(tmp_path: Path) -> None:
    run = Run(tmp_path, 3)
    for env in range(3):
        run.event("acquire", env, detail={"wanted": {"gravity": [0.0, -9.8, 0.0]}})
    audit = run.resets().steps(3).audit()
    assert audit.findings == []
    assert "scene-key" not in {one.id for one in audit.not_run}


def test_without_what_they_want_it_can_not_run(tmp_path: Path) -> None:
    reason = Run(tmp_path, 2).resets().steps(2).not_run("scene-key")
    assert reason is not None
    assert "wanted" in reason.needs


# -- context-threads -------------------------------------------------------------------


def test_more_threads_than_cores(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, threads=8, processes=2, extra={"cores": 4})
    found = run.resets().steps(2).only("context-threads")
    assert (found.value, found.expected) == (16, 4)


def test_threads_that_a_context_does_not_have(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, threads=1, extra={"cores": 4, "threads_wanted": 3})
    found = run.resets().steps(2).only("context-threads")
    assert (found.value, found.expected) == (1, 3)


@pytest.mark.parametrize("more", [{"threads": None}, {"extra": {}}])
def test_what_threads_need(tmp_path: Path, more: dict[str, Any]) -> None:
    reason = Run(tmp_path, 2, **more).resets().steps(2).not_run("context-threads")
    assert reason is not None
