"""What a labelled recording tells a manifest: failures, changes, reasons, clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.dataset.manifest.build import Made
from isoscope.core.dataset.manifest.exporting import export_with_manifest
from isoscope.core.dataset.manifest.hashes import file_sha256
from isoscope.core.dataset.manifest.stored import read_manifest
from isoscope.core.dataset.manifest.told import _true, told_of
from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.model import Recording

STEPS, M = 6, 2


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """One environment, two episodes of 3 control steps; one step did not converge."""
    path = tmp_path / "run.isoscope.h5"
    identity = r.Identity(
        engine="none",
        control_hz=50.0,
        substeps=M,
        environments=1,
        seeds=[2**70],
        solver_statuses={0: "converged", 2: "diverged"},
        threads=1,
    )
    with Recorder(path, identity) as to:
        to.scene(r.SceneInfo(id=0, environments=[0], key="rail"))
        to.actor(r.ActorInfo(name="Cart", type="Rigid", reference={"m": [1.0]}))
        to.actor(r.ActorInfo(name="Bare", type="Rigid"))
        seen = [
            to.frame(
                [r.Field(name="obs", group=g, shape=(2,))], "float64", "transitions"
            )
            for g in ("observation_before", "observation_after", "action")
        ]
        row = 0
        for control in range(STEPS):
            episode, step = control // 3 + 1, control % 3 + 1
            at = {"env": 0, "episode": episode, "control_step": step}
            rows = []
            for substep in range(M):
                status = 2 if control == 4 and substep else 0
                row = to.native(
                    r.NativeStep(
                        **at,
                        substep=substep,
                        h_s=0.01,
                        kind=0,
                        solver_status=status,
                        configuration_digest=bytes([1 + (control > 2)]) * 16,
                    )
                )
                rows.append(row)
            if control == 3:
                to.failure(r.Failure("restore", "refused", row=rows[0], env=0))
                to.failure(r.Failure("restore", "again", row=rows[1], env=0))
                to.change(r.ConfigurationChange("mass", 1.0, 2.0, row=rows[0], env=0))
                to.dropped(r.Dropped("camera", 3, why="the disk was slow"))
            for number, frame in enumerate(seen):
                frame.put(0, [control + number / 2, episode])
            to.transition(
                r.Transition(
                    **at,
                    reward=1.0,
                    terminated=int(step == 3),
                    truncated=0,
                    valid=1,
                    first_row=rows[0],
                    last_row=rows[-1],
                    reasons={"pole": step == 3, "cart": False, "why": {"angle": True}},
                ),
                *seen,
            )
        for k in range(4):
            to.stream(
                r.StreamSample(
                    name="cam",
                    capture_time_s=0.02 * k,
                    read_time_s=0.02 * k + 0.005 * (k + 1),
                    data=np.zeros((2, 2), np.uint8),
                )
            )
    return load(path)


def test_it_is_counted_and_taken_over(recording: Recording, tmp_path: Path) -> None:
    episodes = episodes_of(recording)
    export_with_manifest(Made(episodes, recording), "shards", tmp_path / "out")
    found = read_manifest(tmp_path / "out")
    assert recording.path is not None
    assert found.source.sha256 == file_sha256(recording.path)
    assert found.source.complete is True
    assert found.identity["seeds"] == [str(2**70)]
    assert found.clocks.h_s == [0.01]
    assert found.clocks.relation == "H = M h"
    assert found.solver == {"converged": STEPS * M - 1, "diverged": 1}
    assert found.reasons == {"pole": 2, "why/angle": STEPS}
    restore = found.failures[0]
    assert (restore["what"], restore["count"]) == ("restore", 2)
    assert (restore["first"], restore["native"]) == ("refused", 3 * M)
    camera = {"what": "not recorded: camera", "count": 3, "first": "the disk was slow"}
    assert camera in found.failures
    (change,) = found.configuration["changes"]
    assert (change["key"], change["old"], change["new"]) == ("mass", 1.0, 2.0)
    assert found.configuration["digests"] == ["01" * 16, "02" * 16]
    models = {m["name"]: m["sha256"] for m in found.configuration["models"]}
    assert len(models["Cart"] or "") == 64
    assert models["Bare"] is None
    (camera,) = found.frames
    assert (camera["stream"], camera["count"]) == ("cam", 4)
    assert camera["capture_time_s"] == [0.0, pytest.approx(0.06)]
    assert camera["largest_age_s"] == pytest.approx(0.02)
    missing = {one.what.split(" ")[0] for one in found.missing}
    told = ("solver", "reasons", "frames", "identity.threads", "clocks.h_s")
    assert not missing & set(told)
    assert {"identity.commit", "audit", "validation"} <= missing


def test_without_a_recording_only_the_identity_speaks(recording: Recording) -> None:
    told = told_of(episodes_of(recording), None)
    assert (told.solver, told.reasons, told.failures, told.frames) == ({}, {}, [], [])
    assert told.clocks.substeps == M


@pytest.mark.parametrize(
    ("told", "names"),
    [
        (None, []),
        ("", []),
        ("fell", ["fell"]),
        (["a", "b"], ["a", "b"]),
        ({"a": True, "b": False, "c": 1}, ["a"]),
        ({"why": "fell", "also": ["x"]}, ["why/fell", "also/x"]),
    ],
)
def test_reasons_in_whatever_form(told: object, names: list[str]) -> None:
    assert _true(told) == names
