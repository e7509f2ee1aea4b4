"""Datasets as their own tools write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import CancelledError, ReadError, UsageError
from isoscope.core.recording import registry
from isoscope.core.recording.source import Source
from tests.core.dataset.made import made
from tests.core.dataset.readers import foreign
from tests.core.dataset.readers.foreign import LENGTHS, numbers

if TYPE_CHECKING:
    from pathlib import Path

MADE = {
    "robomimic": lambda at: foreign.robomimic(at / "a.hdf5"),
    "isaac": lambda at: foreign.robomimic(at / "a.hdf5", next_obs=False),
    "maniskill": lambda at: foreign.maniskill(at / "a"),
    "minari": lambda at: foreign.minari(at / "a-v0"),
    "minari-arrow": lambda at: foreign.minari(at / "a-v0", kind="arrow"),
    "lerobot": lambda at: foreign.lerobot(at / "a"),
    "lerobot-2": lambda at: foreign.lerobot(at / "a", version="v2.1"),
}


def opened(kind: str, at: Path) -> Any:
    return open_episodes(MADE[kind](at))


def test_robomimic(tmp_path: Path) -> None:
    found = opened("robomimic", tmp_path)
    assert [e.length for e in found.episodes] == list(LENGTHS)
    assert found.control_hz == 20
    assert found.splits == {"train": [1, 2]}
    named = {f.name: f for f in found.features}
    assert named["obs/eef"].per == "boundary"
    assert (
        found.read(1, "obs/eef").tolist()
        == (numbers(4, 3, dtype=np.float64) + 10).tolist()
    )
    assert found.read(1, "obs/eef", 2, 4).shape == (2, 3)
    assert found.read(1, "obs/eef", 3).shape == (1, 3)
    assert found.episodes[0].terminated is None
    assert found.episodes[0].final


def test_isaac_lab_keeps_the_state_it_began_in(tmp_path: Path) -> None:
    found = opened("isaac", tmp_path)
    named = {f.name: f for f in found.features}
    pose = "states/articulation/robot/root_pose"
    assert named[pose].per == "boundary"
    assert named["obs/eef"].per == "step"
    assert found.read(2, pose).tolist() == numbers(7, 7).tolist()
    assert found.read(2, "obs/eef").shape == (6, 3)
    assert found.episodes[1].notes == {"success": True}
    assert not found.problems
    found.close()
    with h5py.File(found.path, "a") as file:
        del file.attrs["format_version"]
    assert "w x y z" in open_episodes(found.path).problems[0]


def test_maniskill(tmp_path: Path) -> None:
    found = opened("maniskill", tmp_path)
    assert [e.seed for e in found.episodes] == [100, 101, 102]
    assert found.read(0, "env_states/actors/cube").shape == (5, 13)
    assert found.episodes[0].terminated is True
    assert found.episodes[0].truncated is False
    assert {f.name: f.role for f in found.features}["obs"] == "observation"


@pytest.mark.parametrize("kind", ["minari", "minari-arrow"])
def test_minari(kind: str, tmp_path: Path) -> None:
    found = opened(kind, tmp_path)
    assert [e.seed for e in found.episodes] == [0, 1, 2]
    assert found.read(2, "observations/a").tolist() == numbers(7, 2, 3).tolist()
    assert found.read(2, "actions").tolist() == [0, 1, 2, 3, 4, 0]
    assert found.read(1, "terminations").tolist() == [False, False, True]
    assert found.identity["dataset_id"] == "a-v0"


@pytest.mark.parametrize("kind", ["lerobot", "lerobot-2"])
def test_lerobot(kind: str, tmp_path: Path) -> None:
    found = opened(kind, tmp_path)
    assert found.control_hz == 25
    assert [e.task for e in found.episodes] == ["pick"] * 3
    state = found.read(2, "observation.state")
    assert state.tolist() == (numbers(6, 3) + 200).tolist()
    assert found.read(1, "action", 1, 3).tolist() == [[2.0], [3.0]]
    assert not found.episodes[0].final
    names = {f.name: f.names for f in found.features}
    assert names["observation.state"] == ("a", "b", "c")
    assert not found.problems
    again = open_episodes(tmp_path / "a/meta/info.json")
    assert again.name == "a"
    assert again.read(2, "observation.state").tobytes() == state.tobytes()


@pytest.mark.parametrize("kind", sorted(MADE))
def test_a_dataset_opens_like_a_recording(kind: str, tmp_path: Path) -> None:
    path = MADE[kind](tmp_path)
    source = registry.open_source(path)
    assert isinstance(source, Source)
    picture = source.preview()
    assert picture is not None
    assert len(picture) == 1
    assert source.preview(99) is None
    seen: list[tuple[int, int]] = []
    source.index(lambda done, total: seen.append((done, total)))
    source.close()
    source.close()
    assert seen[-1] == (3, 3)
    recording = source.recording
    assert recording.complete
    assert recording.path == path
    episodes = open_episodes(path)
    closed = episodes.episodes[0].final
    assert len(recording) == sum(n + closed for n in LENGTHS)
    labels = recording.labels
    assert labels is not None
    first = LENGTHS[0] + closed
    assert labels.episode[first - 1 : first + 1].tolist() == [1, 2]
    assert labels.control_step[:2].tolist() == ([0, 1] if closed else [1, 2])
    fields = {n: t for a in recording.actors for n, t in a.fields.tracks.items()}
    assert set(fields) == {f.name for f in episodes.features}
    for feature in episodes.features:
        track = fields[feature.name]
        shift = closed and feature.per == "step"
        values = episodes.read(1, feature.name)
        window = track.read(first + shift, first + shift + len(values))
        assert window.valid.all()
        assert window.values.tobytes() == values.tobytes()
        assert track.present(0) == (not shift)
        assert track.values.shape == (len(recording), *feature.shape)
        assert track.present_count() == int(track.valid.sum())
        assert (track.at(0) is None) == shift
    if episodes.control_hz:
        hz = episodes.control_hz
        times = (np.arange(len(recording)) + 1) / hz
        assert recording.steps.time_s.tolist() == times.tolist()
        assert recording.steps.scene_time_s[first] == 0
    stopped = registry.open_source(path)
    with pytest.raises(CancelledError):
        stopped.index(cancelled=lambda: True)


@pytest.mark.parametrize("kind", sorted(MADE))
def test_a_foreign_dataset_goes_out_and_comes_back(kind: str, tmp_path: Path) -> None:
    found = opened(kind, tmp_path)
    format = found.format
    if format == "minari":
        pytest.importorskip("minari")
    result = export(found, format, tmp_path / "b-v0")
    again = open_episodes(tmp_path / "b-v0")
    for index in range(3):
        for name, target in result.fields.items():
            a, b = found.read(index, name), again.read(index, target)
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()


def test_demo_10_comes_after_demo_2(tmp_path: Path) -> None:
    found = open_episodes(foreign.robomimic(tmp_path / "a.hdf5", [1] * 12))
    assert [e.id for e in found.episodes] == [f"demo_{k}" for k in range(12)]


def test_fifty_thousand_groups_of_one_row(tmp_path: Path) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w", libver="latest") as file:
        first = file.create_group("data/demo_0")
        first["actions"] = numbers(1, 1)
        first["obs/x"] = numbers(1, 1)
        data = file["data"]
        for k in range(1, 50_000):  # hard links: the same group under other names
            h5py.h5o.link(first.id, data.id, f"demo_{k}".encode())
    found = open_episodes(path)
    assert len(found.episodes) == 50_000
    assert found.episodes[49_999].id == "demo_49999"
    assert found.read(49_999, "actions").tolist() == [[0.0]]
    source = registry.open_source(path)
    picture = source.preview(31_415)
    assert picture is not None


def test_reading_out_of_bounds(tmp_path: Path) -> None:
    found = opened("robomimic", tmp_path)
    assert found.read(0, "actions", 3, 99).shape == (1, 2)
    assert found.read(0, "actions", 4).shape == (0, 2)
    with pytest.raises(UsageError, match="no episode 3"):
        found.read(3, "actions")
    with pytest.raises(UsageError, match="no feature"):
        found.read(0, "x")
    found.close()
    found.close()
    with pytest.raises(ReadError):
        found.read(0, "actions")


def test_what_is_no_dataset(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ReadError):
            open_episodes(path)
    with pytest.raises(ReadError, match="folder"):
        registry.open_source(tmp_path)
    with pytest.raises(UsageError, match="no reader"):
        open_episodes(tmp_path, "avi")


def test_lanes_of_collected_shards(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from isoscope.core.collection.shards import ShardWriter
    from isoscope.core.trajectory.trajectory import Trajectory

    writer = ShardWriter(tmp_path / "run")
    writer.begin()
    dones = torch.zeros(5, 3, 1, dtype=torch.bool)
    dones[4] = True
    rewards = torch.arange(12.0).reshape(4, 3, 1)
    item = Trajectory(4, actions=torch.ones(4, 3, 2), rewards=rewards, dones=dones)
    writer.write("actor", 0, item)
    writer.finish({})
    found = open_episodes(tmp_path / "run")
    assert len(found.episodes) == 3
    assert found.read(1, "rewards").tolist() == [1.0, 4.0, 7.0, 10.0]
    assert found.read(1, "dones").tolist() == [False, False, False, True]
    assert found.read(2, "actions").shape == (4, 2)


def test_a_flipped_bit_in_a_shard_is_told(tmp_path: Path) -> None:
    result = export(made((3,)), "shards", tmp_path / "a")
    (shard,) = result.path.glob("*.safetensors")
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    with pytest.raises(ReadError, match="hash"):
        open_episodes(result.path).read(0, "actions")
