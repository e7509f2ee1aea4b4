"""What the user knows: files of labels, and what they change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.labels import GivenLabels, read_labels
from isoscope.core.attribution.report import reasons, report
from isoscope.core.errors import ReadError
from isoscope.core.jsonform import encode
from isoscope.core.recording.model import Labels, StepKind
from isoscope.core.recording.registry import load
from tests.core.attribution.shared_scene import run

if TYPE_CHECKING:
    from pathlib import Path


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "labels.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_arrays(tmp_path: Path) -> None:
    path = written(tmp_path, {"env": [0, None, -1], "episode": [1, 2, None]})
    given = read_labels(path, 3)
    assert given.labels.env.tolist() == [0, -1, -1]
    assert given.labels.episode.tolist() == [1, 2, -1]
    assert given.labels.substep.tolist() == [-1] * 3
    assert given.substeps is None
    assert given.source == "labels.json"


@pytest.mark.parametrize("bare", [True, False])
def test_a_list_of_steps(tmp_path: Path, bare: bool) -> None:
    steps = [{"native": 2, "env": 1, "control_step": 4}, {"native": 0, "env": None}]
    path = written(tmp_path, steps if bare else {"steps": steps, "substeps": 3})
    given = read_labels(path, 4)
    assert given.labels.env.tolist() == [-1, -1, 1, -1]
    assert given.labels.control_step.tolist() == [-1, -1, 4, -1]
    assert given.substeps == (None if bare else 3)


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "labels.npz"
    np.savez(path, native=[1, 3], env=[2, 0], substeps=2)
    given = read_labels(path, 4)
    assert given.labels.env.tolist() == [-1, 2, -1, 0]
    assert given.substeps == 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not JSON"),
        ("3", "neither an object"),
        ({}, "no labels in it"),
        ({"env": [0, 1]}, "2 values for 3"),
        ({"env": [0, 1, 0.5]}, "whole numbers"),
        ({"env": [0, 1, True]}, "whole numbers"),
        ({"env": [0, 1, -3]}, "below 0"),
        ({"env": [0, 1, 2**70]}, "too large"),
        ({"env": "abc"}, "not a list"),
        ({"episode": [0, 1, 1]}, "count from 1"),
        ({"steps": [{"env": 1}]}, "without its native number"),
        ({"steps": [{"native": 3, "env": 1}]}, r"outside of 0 \.\. 2"),
        ({"steps": [{"native": 1}, {"native": 1}]}, "named twice"),
        ({"steps": 5}, "not a list"),
        ({"env": [0, 0, 0], "substeps": 0}, "not a number of substeps"),
        ({"env": [0, 0, 0], "substeps": "two"}, "not a number of substeps"),
    ],
)
def test_bad_labels_are_told_in_one_line(
    tmp_path: Path, content: Any, problem: str
) -> None:
    with pytest.raises(ReadError, match=problem) as told:
        read_labels(written(tmp_path, content), 3)
    assert "\n" not in str(told.value)
    assert "labels.json" in str(told.value)


def test_files_that_are_no_labels(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file"):
        read_labels(tmp_path / "none.json", 3)
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(ReadError):
        read_labels(bad, 3)
    np.savez(tmp_path / "real.npz", env=np.array([0.5]))
    with pytest.raises(ReadError, match="whole numbers"):
        read_labels(tmp_path / "real.npz", 1)


def test_the_written_form_of_an_attribution_is_a_file_of_labels(
    tmp_path: Path, recordings: Path
) -> None:
    recording = load(recordings / "shared_cartpole_missed_restore.h5")
    found = attribute(recording)
    path = tmp_path / "found.json"
    path.write_bytes(encode(report(recording, found)))
    given = read_labels(path, len(recording))
    assert given.substeps == 2
    np.testing.assert_array_equal(given.labels.env, found.labels.env)
    again = attribute(recording, labels=given)
    np.testing.assert_array_equal(again.labels.episode, found.labels.episode)
    assert again.notes == []


def _labels(rows: int, **known: dict[int, int]) -> GivenLabels:
    labels = Labels.unknown(rows)
    for name, values in known.items():
        for row, value in values.items():
            getattr(labels, name)[row] = value
    return GivenLabels(labels, None, "hints")


def test_one_label_names_an_environment_and_all_its_episodes() -> None:
    scene, truth = run(3, 30, seed=2)
    row = truth.env.index(1) + 40
    row = next(k for k in range(row, len(scene)) if truth.env[k] == 1)
    found = attribute(scene.recording(), labels=_labels(len(scene), env={row: 7}))
    env = np.array(truth.env)
    assert (found.labels.env[env == 1] == 7).all()
    # the others keep the numbers of their first appearance, as far as these are free
    assert set(found.labels.env[env == 0].tolist()) == {0}
    assert set(found.labels.env[env == 2].tolist()) == {1}


def test_labels_make_substeps_known(recordings: Path) -> None:
    recording = load(recordings / "independent_cartpole_env0.h5")
    rows = len(recording)
    found = attribute(recording, labels=_labels(rows, substep={1: 0, 2: 1}))
    assert found.substeps == 2
    assert found.substeps_how == "hints"
    assert not found.reason.any()


def test_labels_set_where_a_cut_episode_counts_from(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_midstart.h5")
    rows = len(recording)
    given = _labels(rows, episode={0: 1, 2: 2}, control_step={0: 11, 2: 1})
    found = attribute(recording, labels=given)
    content = (recordings / "shared_cartpole_midstart.truth.json").read_text()
    steps = json.loads(content)["native_steps"]
    for name in ("env", "episode", "control_step", "substep"):
        expected = [step[name] for step in steps]
        assert getattr(found.labels, name).tolist() == expected


def test_labels_name_what_nothing_else_could(recordings: Path) -> None:
    recording = load(recordings / "no_state.h5")
    given = _labels(len(recording), env={0: 1, 3: 0}, control_step={0: 0, 3: 2})
    found = attribute(recording, labels=given)
    assert found.labels.env.tolist() == [1, -1, -1, 0, -1]
    assert found.labels.kind[0] == StepKind.RESET
    assert reasons(found) == {"no_velocities": 3}
    assert found.confidence.tolist() == [1, 0, 0, 1, 0]


def test_labels_that_contradict_the_chain_are_told() -> None:
    scene, truth = run(2, 20, seed=2, length=100)
    rows = [k for k, env in enumerate(truth.env) if env == 0][4:6]
    given = _labels(len(scene), env={rows[0]: 0, rows[1]: 1})
    found = attribute(scene.recording(), labels=given)
    assert found.labels.env.tolist() == truth.env
    (note,) = found.notes
    assert f"at native step {rows[0]}" in note
    assert "hints" in note


def test_labels_are_believed_where_episodes_are_theirs() -> None:
    scene, truth = run(2, 40, seed=2, length=8)
    env, episode = np.array(truth.env), np.array(truth.episode)
    first = np.flatnonzero((env == 0) & (episode == 1))[0]
    second = np.flatnonzero((env == 0) & (episode == 2))[0]
    given = _labels(len(scene), env={int(first): 4, int(second): 5})
    found = attribute(scene.recording(), labels=given)
    assert (found.labels.env[(env == 0) & (episode == 1)] == 4).all()
    assert (found.labels.env[(env == 0) & (episode >= 2)] == 5).all()
    assert any("labels are believed" in note for note in found.notes)


def test_a_source_may_carry_labels_itself() -> None:
    scene, truth = run(2, 10, seed=2, length=100)
    recording = scene.recording()
    recording.labels = Labels.unknown(len(scene))
    recording.labels.env[:] = 1 - np.array(truth.env)
    found = attribute(recording)
    assert found.labels.env.tolist() == (1 - np.array(truth.env)).tolist()
