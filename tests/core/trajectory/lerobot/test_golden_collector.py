"""The recorded runs in online LeRobot mode, all of them, as RLinf records frames."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.trajectory.recorded_runs import collector, emitted, replay
from tests.golden import Case, cases_of, decode

CASES = cases_of("collector_lerobot")
# The data tells: a chunk came before an earlier one of its source (H1).
OUT_OF_ORDER = "chunks are put in order; RLinf records them as they come (H1)"


def as_rlinf(case: Case) -> dict[str, Any]:
    cfg = decode(case.setup["config"], case.tensors)
    cfg["algorithm"]["dagger"]["online_lerobot"]["compatibility"] = "rlinf"
    return dict(cfg)


def difference(case: Case) -> str | None:
    latest: dict[tuple[str, int, int], tuple[int, ...]] = {}
    for event in case.events:
        part = event["in"]
        if part["$type"] != "EnvPart":
            continue
        for source in part["sources"]:
            step, epoch, rank, stage, chunk = source["$source"]["key"]["$key"]
            now = (step, epoch, chunk)
            before = latest.get((part["$type"], rank, stage), now)
            if now < before:
                return OUT_OF_ORDER
            latest[part["$type"], rank, stage] = now
    return None


@pytest.mark.parametrize(
    "case", [case for case in CASES if not difference(case)], ids=lambda case: case.name
)
def test_recorded(case: Case) -> None:
    replay(case, as_rlinf(case))


def test_differences_are_these() -> None:
    found = {case.name: difference(case) for case in CASES if difference(case)}
    assert found["chunks_out_of_order"] == OUT_OF_ORDER


@pytest.mark.parametrize(
    "case", [case for case in CASES if difference(case)], ids=lambda case: case.name
)
def test_chunks_out_of_order_give_what_they_give_in_order(case: Case) -> None:
    parts = [decode(event["in"], case.tensors) for event in case.events]
    arrived = collector(case, as_rlinf(case))
    sorted_ = collector(case, as_rlinf(case))
    found = [emitted(arrived, part) for part in parts]
    wanted = [
        emitted(sorted_, part)
        for part in sorted(parts, key=lambda part: part.sources[0].key)
    ]
    assert repr([pair for each in found for pair in each]) == repr(
        [pair for each in wanted for pair in each]
    )
    assert any(found)
