"""A labelled recording is attributed by its labels, and works as any recording does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.attribution.align import align
from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording import registry
from isoscope.core.recording.info import info
from isoscope.core.recording.model import StepKind
from isoscope.core.summary import summarize
from tests.core.recording.labelled.samples import LABELS, RECORDINGS, make, steps_of

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    "shared_cartpole_2env",
    "shared_cartpole_missed_restore",
    "shared_cartpole_midstart",
    "shared_cartpole_short_episodes",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_labels_are_the_attribution(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    make(name, path)
    recording = registry.load(path)
    found = attribute(recording)
    steps = steps_of(name)
    for key in LABELS:
        said = np.array([step[key] for step in steps])
        np.testing.assert_array_equal(getattr(found.labels, key), said, key)
    reset = np.array([step["control_step"] == 0 for step in steps])
    np.testing.assert_array_equal(found.labels.kind == StepKind.RESET, reset)
    assert found.linked.all()
    assert found.environments == 2
    bare = attribute(registry.load(RECORDINGS / f"{name}.h5"))
    assert [m.native for m in found.missed_restores] == [
        m.native for m in bare.missed_restores
    ]
    np.testing.assert_array_equal(found.parent, bare.parent)


def test_every_field_is_the_native_one_bit_for_bit(tmp_path: Path) -> None:
    for name in ("shared_cartpole_2env", "fp64_rigid_contacts_all", "create_destroy"):
        native = registry.load(RECORDINGS / f"{name}.h5")
        path = tmp_path / f"{name}.isoscope.h5"
        from tests.core.recording.labelled.samples import record

        record(native, path, [])
        recording = registry.load(path)
        assert recording.complete
        assert not recording.problems
        assert len(recording.actors) == len(native.actors)
        for actor, twin in zip(native.actors, recording.actors, strict=True):
            assert actor.handle == twin.handle
            assert actor.destroyed_native == twin.destroyed_native
            for field, track in twin.fields.tracks.items():
                there = actor.fields[field]
                assert track.dtype == there.dtype
                assert track.present_count() == there.present_count()
                for row in range(len(native)):
                    mine, its = track.at(row), there.at(row)
                    assert (mine is None) == (its is None)
                    if mine is not None and its is not None:
                        assert mine.tobytes() == its.tobytes()
        np.testing.assert_array_equal(recording.steps.h_s, native.steps.h_s)
        np.testing.assert_array_equal(recording.steps.gravity, native.steps.gravity)


def test_info_align_audit_and_the_sentence(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    make("shared_cartpole_2env", path)
    recording = registry.load(path)
    said = info(recording)
    assert said.labels.environments
    assert said.labels.seeds
    assert said.format == "isoscope-labelled"
    assert said.precision == "float32"
    assert said.supports.attribution.reason == "its labels say whose each step was"
    assert "bare" not in summarize(recording)
    aligned = align(recording, attribute(recording))
    fits = {fit.clock: fit for e in aligned.environments for fit in e.segments[0].fits}
    assert set(fits) == {"recording", "scene", "control", "wall"}
    assert fits["control"].slope_s_per_control_step == pytest.approx(0.04)
    assert fits["scene"].slope_s_per_control_step == pytest.approx(0.04)
    # Two environments of two substeps each, a millisecond a row.
    assert fits["wall"].slope_s_per_control_step == pytest.approx(0.004)
    found = audit(Context(Examined(recording, attribute(recording))))
    assert not [f for f in found.findings if f.severity == "error"]


def test_the_size_against_the_native_recorder(tmp_path: Path) -> None:
    for name in ("shared_cartpole_2env", "fp64_shared_cartpole_2env"):
        path = tmp_path / f"{name}.isoscope.h5"
        make(name, path)
        native = (RECORDINGS / f"{name}.h5").stat().st_size
        assert path.stat().st_size < 0.2 * native
