"""Faults of a rollout at places drawn by chance: found there, and nothing else.

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

if TYPE_CHECKING:
    from pathlib import Path

OF_CONSUMERS = [n for n, kind in all_faults().items() if issubclass(kind, RolloutFault)]


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", OF_CONSUMERS)
def test_a_fault_is_found_where_it_happened_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    expect_it_and_only_it(somewhere(tmp_path, name, number, QUICK))
