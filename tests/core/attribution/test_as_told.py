"""A recording that tells whose its steps were: one look says what the search says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.app.bench.labelled_run import record_run
from isoscope.app.bench.shared_run import generate
from isoscope.core.analysis import Analyser
from isoscope.core.attribution.as_told import as_told
from isoscope.core.attribution.attributor import attribute
from isoscope.core.errors import CancelledError
from isoscope.core.recording.model import Labels, StepKind
from isoscope.core.recording.registry import load
from tests.core.attribution.shared_scene import run

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.attribution.result import Attribution
    from isoscope.core.recording.model import Recording

NOT_LOOKED_AT = ("margin_m", "order")
COLUMNS = ("env", "episode", "control_step", "substep", "kind")


def recorded(path: Path, envs: int = 3, steps: int = 700, **how: object) -> Recording:
    """A generated run that tells whose its steps were."""
    record_run(generate(envs, steps, seed=4, **how), path)  # type: ignore[arg-type]
    return load(path)


def same(one: Attribution, other: Attribution) -> list[str]:
    """The fields in which two attributions differ."""
    out = []
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "labels":
            pairs = [(getattr(a, name), getattr(b, name)) for name in COLUMNS]
        elif isinstance(a, np.ndarray):
            pairs = [(a, b)]
        else:
            if a != b:
                out.append(field.name)
            continue
        for x, y in pairs:
            equal = np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
            if x.dtype != y.dtype or not equal:
                out.append(field.name)
    return [name for name in out if name not in NOT_LOOKED_AT]


@pytest.mark.parametrize("order", ["random", "fixed"])
def test_what_the_search_finds(tmp_path: Path, order: str) -> None:
    recording = recorded(tmp_path / "run.isoscope.h5", order=order)
    found = as_told(recording)
    assert found is not None
    assert same(attribute(recording), found) == []


def test_states_of_one_environment_are_carried_from_block_to_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = recorded(tmp_path / "run.isoscope.h5")
    monkeypatch.setattr("isoscope.core.attribution.as_told.BLOCK", 50)
    found = as_told(recording)
    assert found is not None
    assert same(attribute(recording), found) == []


@pytest.mark.parametrize("missed", [(), ((42, 2),)])
def test_a_missed_restore_is_left_to_the_search(
    missed: tuple[tuple[int, int], ...],
) -> None:
    scene, truth = run(4, 30, seed=11, missed=missed)
    recording = scene.recording()
    first = np.array(truth.control_step) == 0
    recording.labels = Labels(
        env=np.array(truth.env, np.int32),
        episode=np.array(truth.episode, np.int32),
        control_step=np.array(truth.control_step, np.int32),
        substep=np.array(truth.substep, np.int32),
        kind=np.where(first, StepKind.RESET, StepKind.SUBSTEP).astype(np.int8),
    )
    assert (as_told(recording) is None) == bool(missed)
    found = attribute(recording, margins=False)
    assert [m.native for m in found.missed_restores] == [m[0] for m in truth.missed]
    assert len(Analyser(recording).run().attribution.missed_restores) == len(missed)


def test_a_gap_in_what_is_told_is_left_to_the_search(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "run.isoscope.h5")
    labels = recording.labels
    assert labels is not None
    for name, row, value in (
        ("env", 40, -1),
        ("episode", 40, 7),
        ("substep", 40, 0 if labels.substep[40] else 1),
        ("control_step", 40, 1000),
        ("kind", 40, StepKind.UNKNOWN),
    ):
        column = getattr(labels, name)
        kept = column[row].copy()
        column[row] = value
        assert as_told(recording) is None, name
        column[row] = kept
    assert as_told(recording) is not None


def test_a_bare_recording_is_searched(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "run.isoscope.h5")
    recording.labels = None
    assert as_told(recording) is None


def test_the_one_look_can_be_stopped(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "run.isoscope.h5")
    with pytest.raises(CancelledError, match="native step 0"):
        as_told(recording, cancelled=lambda: True)
