"""The recorded runs in online LeRobot mode, all of them, as RLinf records frames."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.trajectory.recorded_runs import LATE, Story, check
from tests.golden import DATA, OURS, Case, cases_of, decode

CASES = cases_of("collector_lerobot")


def as_rlinf(case: Case) -> dict[str, Any]:
    cfg = decode(case.setup["config"], case.tensors)
    cfg["algorithm"]["dagger"]["online_lerobot"]["compatibility"] = "rlinf"
    return dict(cfg)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded(case: Case) -> None:
    check(case, as_rlinf(case))


def test_differences_are_these() -> None:
    found = {case.name: Story(case).differences() for case in CASES}
    if DATA == OURS:
        assert {name for name, reasons in found.items() if reasons} == {
            "chunks_out_of_order"
        }
    assert found.get("chunks_out_of_order", {LATE}) == {LATE}
