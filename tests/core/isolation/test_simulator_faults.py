"""The simulator's faults about scenes, state and randomness, seen through the tap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.core.envs.faults.registry import all_faults
from tests.core.isolation.demo_audit import audited

if TYPE_CHECKING:
    from pathlib import Path

STEP, RESET = "1:2/3", "1:2/0"
FAULTS = {
    "missed-restore": STEP,
    "partial-restore": STEP,
    "failed-restore": STEP,
    "lost-snapshot": STEP,
    "gravity-leak": STEP,
    "friction-leak": STEP,
    "inertia-leak": STEP,
    "density-leak": STEP,
    "incomplete-key": "1:1/0",
    "failing-cleanup": "1:1/0",
    "stale-observation": STEP,
    "duplicate-seeds": RESET,
    "same-seed-every-reset": RESET,
    "identical-start": RESET,
    "shared-rng": RESET,
    "wrong-thread": STEP,
    "non-finite-force": STEP,
    "diverging-solve": STEP,
    "callback-moved-state": STEP,
    "zero-step": STEP,
}
NOBODY_S = {"failing-cleanup"}  # a scene's, as the last of its environments closes


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"scene": "independent"},
        {"scene": "resident"},
        {"autoreset": "same_step"},
        {"autoreset": "disabled", "envs": 2},
        {"task": "DoublePendulumRail", "precision": "float32"},
    ],
    ids=str,
)
def test_a_clean_run_has_no_finding(tmp_path: Path, more: dict[str, Any]) -> None:
    said, about = audited(tmp_path, **more)
    assert about["rows"] > 30
    assert [f.message for f in said.findings] == []


# The others take a minute or so together.
QUICK = ("missed-restore", "partial-restore", "friction-leak", "shared-rng")


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # which some of them want
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in FAULTS
    ],
)
def test_a_fault_is_found_where_it_is(tmp_path: Path, name: str) -> None:
    place = FAULTS[name]
    said, _ = audited(tmp_path, f"{name}@{place}")
    kind = all_faults()[name]
    ids = {f.id for f in said.findings}
    assert ids >= set(kind.FINDS), said.findings
    assert ids <= {*kind.FINDS, *kind.MAY_FIND}, [f.message for f in said.findings]
    found = [f for f in said.findings if f.id in kind.FINDS]
    episode, k = (int(n) for n in place.partition(":")[2].split("/"))
    if name in NOBODY_S:
        return
    if name == "identical-start":  # it is about two of them, the first one first
        assert 1 in (found[0].env, found[0].other_env)
        return
    assert [(f.env, f.episode, f.control_step) for f in found] == [(1, episode, k)]
