"""Faults of environments at places drawn by chance: found there, and nothing else.

On scenes in NumPy, which take no time; `test_scattered_engine` has the simulator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.app import environments
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.envs.faults.storing import RolloutFault
from tests.core.envs.rail_scene import make_rail_scene
from tests.core.isolation.scattered import QUICK, expect_it_and_only_it, somewhere
from tests.core.isolation.test_scattered_engine import ENGINE_ONLY

if TYPE_CHECKING:
    from pathlib import Path

OF_ENVIRONMENTS = [
    name
    for name, kind in all_faults().items()
    if not issubclass(kind, RolloutFault) and name not in ENGINE_ONLY
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are not finite
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", OF_ENVIRONMENTS)
def test_a_fault_is_found_where_it_happened_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    expect_it_and_only_it(somewhere(tmp_path, name, number, QUICK))


# Places where something else was told, or nothing.
ONCE_OTHERWISE = [
    ("identical-start", 3),  # which is no restore of another's snapshot
    ("end-flags-swapped", 3),  # of a batch, which tells no infos but reasons
    ("shared-task-state", 3),  # an environment counts otherwise than the tap
    ("masked-info", 3),  # of a batch, where the mask hid the very value
    ("masked-info", 19),  # the same, of a reward that was zero as what stood there
    ("observation-order", 5),  # scenes of their own, each with an actor of that name
    ("stale-observation", 9),  # of one that has only been reset
    ("shared-rng", 9),  # both reset in one round, the owner after the other
    ("duplicate-seeds", 10),  # of the first one, which has it first
    ("non-finite-force", 12),  # NaN in one row, by which every jerk looked too large
    ("missed-restore", 13),  # in a first step, which begins as the other one began
    ("incomplete-key", 13),  # of the one that had the scene made
    ("diverging-solve", 7),  # reasons to terminate, of a state that is none
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are not finite
@pytest.mark.parametrize(("name", "number"), ONCE_OTHERWISE)
def test_where_it_was_once_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    expect_it_and_only_it(somewhere(tmp_path, name, number, QUICK))
