"""Bare recordings: no transitions without a file, and the right ones with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.analysis import Analyser
from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.dataset.transitions.given import read_transitions
from isoscope.core.errors import ReadError, UsageError
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episodes

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings"


def opened(name: str, file: Path | None = None) -> Episodes:
    recording = load(RECORDINGS / f"{name}.h5")
    attribution = Analyser(recording).run(complete=False).attribution
    return episodes_of(recording, attribution, file)


def truth_of(name: str) -> Path:
    return RECORDINGS / f"{name}.truth.json"


@pytest.mark.parametrize(
    "name", ["shared_cartpole_2env", "shared_cartpole_short_episodes"]
)
def test_the_truth_comes_out_as_episodes(name: str) -> None:
    told = json.loads(truth_of(name).read_text())
    episodes = opened(name, truth_of(name))
    assert episodes.control_hz == 25
    names = {f.name: f for f in episodes.features}
    assert names["observation"].names == tuple(told["observation_order"])
    native: dict[tuple[int, int], list[int]] = {}
    for row, step in enumerate(told["native_steps"]):
        if step["control_step"] > 0:
            native.setdefault((step["env"], step["episode"]), []).append(row)
    seen = 0
    for episode in episodes.episodes:
        own = [
            t
            for t in told["transitions"]
            if (t["env"], t["episode"]) == (episode.env, episode.number)
        ]
        assert episode.length == len(own)
        observations = episodes.read(episode.index, "observation")
        assert len(observations) == episode.length + 1
        assert observations[:-1].tolist() == [t["obs"] for t in own]
        assert observations[1:].tolist() == [t["next_obs"] for t in own]
        assert episodes.read(episode.index, "action").tolist() == [
            t["action"] for t in own
        ]
        rewards = episodes.read(episode.index, "reward", 1, 3)
        assert rewards.tolist() == [t["reward"] for t in own][1:3]
        assert episode.terminated == own[-1]["terminated"]
        assert episode.truncated == own[-1]["truncated"]
        assert episode.complete == (episode.terminated or episode.truncated)
        assert episode.native is not None
        rows = native[episode.env, episode.number]
        assert episode.native == (rows[0], rows[-1])
        seen += episode.length
    assert seen == len(told["transitions"])


def test_without_a_file_there_are_none_and_no_target_becomes_an_action() -> None:
    with pytest.raises(UsageError, match="--transitions FILE"):
        opened("shared_cartpole_2env")


def test_a_file_of_another_recording_is_refused() -> None:
    with pytest.raises(UsageError, match="does not have, the first one env"):
        opened("shared_cartpole_short_episodes", truth_of("shared_cartpole_2env"))


def test_npz_keeps_its_dtypes(tmp_path: Path) -> None:
    told = json.loads(truth_of("shared_cartpole_2env").read_text())["transitions"]
    arrays = {name: np.array([t[name] for t in told]) for name in told[0]}
    for name in ("obs", "next_obs", "action"):
        arrays[name] = arrays[name].astype(np.float32)
    np.savez(tmp_path / "t.npz", **arrays)
    episodes = opened("shared_cartpole_2env", tmp_path / "t.npz")
    assert episodes.read(0, "observation").dtype == np.float32
    assert episodes.read(0, "observation")[0].tolist() == arrays["obs"][0].tolist()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "not JSON"),
        ("[]", "no list of transitions"),
        ('{"transitions": [3]}', "without env"),
        ('{"transitions": [{"env": 0}]}', "without episode"),
        ('{"steps": []}', "no list of transitions"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "t.json"
    file.write_text(content)
    with pytest.raises(ReadError, match=problem) as caught:
        read_transitions(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("env", 0.5, "whole numbers"),
        ("episode", 0, "below 1"),
        ("reward", [1.0], "not one value"),
        ("terminated", 2, "neither true nor false"),
        ("obs", ["a"], "numbers"),
        ("next_obs", [1.0], "differ in shape"),
    ],
)
def test_a_bad_value_is_named(tmp_path: Path, name: str, value, problem: str) -> None:
    good = {"env": 0, "episode": 1, "control_step": 1, "obs": [0.0, 1.0]}
    good |= {"action": [0.0], "next_obs": [1.0, 2.0], "reward": 1.0}
    good |= {"terminated": False, "truncated": False}
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"transitions": [{**good, name: value}]}))
    with pytest.raises(ReadError, match=problem):
        read_transitions(file)
