"""What an explanation holds, and how symptoms are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.core.errors import UsageError
from isoscope.core.isolation.explain.explaining import explain, symptom_of
from isoscope.core.isolation.explain.symptoms import SYMPTOMS
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda s: s.key)
def test_a_symptom_is_found_by_its_key_and_its_words(symptom) -> None:
    assert symptom_of(symptom.key) is symptom
    assert symptom_of(symptom.text) is symptom
    assert symptom_of(f"  {symptom.text.upper()} ") is symptom
    told = explain(symptom.key)
    assert [check.id for check in told.checks] == list(symptom.checks)
    assert told.record
    assert {check.state for check in told.checks} == {"not_asked"}


def test_what_is_neither_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError, match="missed-restore"):
        explain("no such thing")
    with pytest.raises(UsageError, match="2 symptoms fit"):
        explain("after ")
    with pytest.raises(UsageError):
        explain("")


def test_what_was_found_and_what_could_not_run(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.step(0)
    run.step(1, restore=False)
    told = explain("picture-of-another", run.steps(2).audit())
    states = {check.id: check.state for check in told.checks}
    assert states["missed-restore"] == "found"
    assert states["stale-read"] == "clean"
    assert states["frame-restamped"] == "not_run"
    stamped = next(c for c in told.checks if c.id == "frame-restamped")
    assert stamped.not_run is not None
    missed = next(c for c in told.checks if c.id == "missed-restore")
    assert missed.found == len(missed.findings) == 1
