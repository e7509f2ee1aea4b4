"""State-pinned against action replay: what departs is named, and exact until there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.cli import as_json
from tests.trial.falling_run import (
    EVERY,
    IN_CONTACT,
    IN_FLIGHT,
    STEPS,
    SUBSTEPS,
    nudge,
    record,
    roughen,
)

if TYPE_CHECKING:
    from pathlib import Path


def answers(told: dict[str, Any]) -> list[str]:
    return [claim["answer"] for claim in told["claims"].values()]


def test_undisturbed_it_is_exact_either_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(record(tmp_path / "run.isoscope.h5"))
    for way in ((), ("--pinned",)):
        told = as_json(capsys, "replay", path, *way)
        assert answers(told) == ["yes", "yes", "yes"]
        assert told["compared_steps"] == STEPS * SUBSTEPS
        assert told["first_divergence"] is None


@pytest.mark.parametrize(("disturb", "at"), [(nudge, IN_FLIGHT), (roughen, IN_CONTACT)])
def test_what_departs_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], disturb: Any, at: int
) -> None:
    path = str(record(tmp_path / "run.isoscope.h5", disturb, at))
    told = as_json(capsys, "replay", path, status=1)
    first = told["first_divergence"]
    assert (first["env"], first["episode"], first["control_step"]) == (0, 1, at)
    equal = (at - 1) * SUBSTEPS + first["substep"]
    assert first["equal_steps"] == equal, "bit for bit before it"
    assert first["field"] is not None
    if disturb is nudge:
        crate = next(
            one
            for one in told["max_difference"]
            if (one["actor"], one["field"]) == ("Crate", "translation")
        )
        assert (first["actor"], first["substep"]) == ("Crate", 0)
        assert 0 < first["size"] < 1e-3
        assert crate["value"] >= 0.9e-6
    pinned = as_json(capsys, "replay", path, "--pinned", status=1)
    if disturb is nudge:
        # From the snapshot after control step 40 on it is the same again.
        most = (2 * EVERY - at + 1) * SUBSTEPS
        assert max(one["differing_steps"] for one in pinned["max_difference"]) <= most
    assert pinned["first_divergence"]["control_step"] == at
