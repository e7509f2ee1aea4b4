"""``isoscope explain``: ids, symptoms, and what was found in a file."""

from __future__ import annotations

import pytest

from isoscope.core.isolation.explain.symptoms import SYMPTOMS
from isoscope.core.isolation.registry import CHECKS
from tests.app.cli import as_json, path, printed, refused

MISSED = path("shared_cartpole_missed_restore")


def test_an_id_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, "explain", "end-flags")
    for words in ("end-flags (error)", "How it comes about", "It needs", "What to do"):
        assert words in said
    assert "Found here" not in said


def test_a_symptom_and_what_was_found_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, "explain", "A's picture shows B", MISSED)
    lines = [line.strip() for line in said.splitlines()]
    assert "missed-restore (error)" in lines
    assert "Found here: 1" in lines
    assert any(line.startswith("Could not run here") for line in lines)
    assert any(line.startswith("to make all of them possible") for line in lines)


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda s: s.key)
def test_each_symptom_as_json(symptom, capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "explain", symptom.key)
    assert told["schema"] == "isoscope.explain/1"
    assert (told["asked"], told["symptom"]) == (symptom.key, symptom.text)
    assert [check["id"] for check in told["checks"]] == list(symptom.checks)
    assert told["file"] is None


def test_with_a_file_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "explain", "missed-restore", MISSED)
    (check,) = told["checks"]
    assert (check["state"], check["found"]) == ("found", 1)
    assert check["findings"][0]["env"] == 0
    assert told["file"] == MISSED


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "explain", "list")
    assert told["ids"] == list(CHECKS)
    assert [one["key"] for one in told["symptoms"]] == [s.key for s in SYMPTOMS]
    assert "alike-starts" in printed(capsys, "explain", "list")


def test_what_is_neither_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "explain", "no-such-thing", MISSED)
    assert "neither a check nor a symptom" in said


def test_a_file_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "explain", "aliasing", "missing.h5")
