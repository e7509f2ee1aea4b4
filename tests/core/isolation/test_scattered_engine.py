"""Every fault at places drawn by chance in the simulator: found, and nothing else.

Those that only the simulator shows always; all of them at 20 places where there is time
for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.core.envs.faults.registry import all_faults
from tests.core.isolation.scattered import QUICK, expect_it_and_only_it, somewhere

if TYPE_CHECKING:
    from pathlib import Path

# What needs workers, which make their own scenes; what is seen by native fields, or by
# stepping again, of scenes in NumPy there is no engine.
WORKERS = [n for n, kind in all_faults().items() if "workers" in kind.NEEDS]
ENGINE_ONLY = [*WORKERS, "hidden-leak", "observation-unit"]
# Some of those that scenes in NumPy show too.
AS_WELL = ("missed-restore", "friction-leak", "shared-rng", "end-flags-swapped")
# Places where something else was told, or nothing.
ONCE_OTHERWISE = [
    ("identical-start", 0),  # of a batch, where nobody restores anything
    ("callback-moved-state", 1),  # of a batch, each of whose worlds has a row
    ("non-finite-force", 5),  # not finite from there on, and yet nobody moved it
    ("diverging-solve", 9),  # the same
]
PLACES = 20


@pytest.mark.parametrize(
    ("name", "number"),
    [
        # Workers take seconds to start.
        pytest.param(name, k, marks=[pytest.mark.slow] if name in WORKERS and k else [])
        for name in ENGINE_ONLY
        for k in range(3)
    ],
)
def test_what_only_the_simulator_shows(tmp_path: Path, name: str, number: int) -> None:
    expect_it_and_only_it(somewhere(tmp_path, name, number, QUICK))


@pytest.mark.parametrize("name", AS_WELL)
def test_the_simulator_shows_the_same(tmp_path: Path, name: str) -> None:
    expect_it_and_only_it(somewhere(tmp_path, name, 0, QUICK))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are not finite
@pytest.mark.parametrize(("name", "number"), ONCE_OTHERWISE)
def test_where_it_was_once_told_otherwise(
    tmp_path: Path, name: str, number: int
) -> None:
    expect_it_and_only_it(somewhere(tmp_path, name, number, QUICK))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are not finite
@pytest.mark.parametrize("number", range(PLACES))
@pytest.mark.parametrize("name", all_faults())
def test_a_fault_of_the_simulator(tmp_path: Path, name: str, number: int) -> None:
    expect_it_and_only_it(somewhere(tmp_path, name, number))
