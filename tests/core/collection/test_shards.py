"""Outputs as files: what is in them, that they are whole, and what is not touched."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.shards import MANIFEST, ShardWriter, flat
from isoscope.core.errors import UsageError, WriteError
from isoscope.core.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    with safe_open(path, "pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata()


def writer(folder: Path, **options: Any) -> ShardWriter:
    made = ShardWriter(folder, **options)
    made.begin()
    return made


def trajectory() -> Trajectory:
    return Trajectory(
        max_episode_length=5,
        model_weights_id="w",
        actions=torch.rand(2, 3, 4),
        dones=torch.zeros(3, 3, 2, dtype=torch.bool),
        forward_inputs={"action": torch.rand(2, 3, 4), "deep": {"x": torch.rand(2, 3)}},
    )


def test_a_trajectory_comes_back_under_flat_dotted_keys(tmp_path: Path) -> None:
    made = trajectory()
    shards = writer(tmp_path / "out")
    shard = shards.write("default_queue", 1, made)
    assert shard is not None
    tensors, texts = read(tmp_path / "out" / shard.file)
    assert sorted(tensors) == [
        "actions",
        "dones",
        "forward_inputs.action",
        "forward_inputs.deep.x",
    ]
    assert made.actions is not None
    assert torch.equal(tensors["actions"], made.actions)
    assert texts["max_episode_length"] == "5"
    assert texts["model_weights_id"] == "w"
    assert (texts["key"], texts["actor"]) == ("default_queue", "1")


def test_the_manifest_lists_every_file_with_its_checksum(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shards = writer(folder)
    for actor in (0, 1, 0):
        shards.write("q", actor, {"a::b": torch.arange(3) + actor})
    shards.finish({"seed": 1})
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["schema"] == "isoscope.shards/1"
    assert manifest["run"] == {"seed": 1}
    assert [s["file"] for s in manifest["shards"]] == [
        "shard-0-000000.safetensors",
        "shard-1-000000.safetensors",
        "shard-0-000001.safetensors",
    ]
    for shard in manifest["shards"]:
        content = (folder / shard["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == shard["sha256"]
        assert len(content) == shard["bytes"]
        assert shard["tensors"] == {"a.b": ["int64", [3]]}
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [MANIFEST, *(s["file"] for s in manifest["shards"])]
    )


def test_equal_outputs_are_equal_files(tmp_path: Path) -> None:
    item = trajectory()
    written = []
    for name in ("a", "b"):
        shard = writer(tmp_path / name).write("q", 0, item)
        assert shard is not None
        written.append(shard.sha256)
    assert written[0] == written[1]


def test_episodes_are_stacked_by_frame() -> None:
    frames = [
        {"state": np.ones(2, np.float32) * n, "done": np.array([n == 2]), "task": "go"}
        for n in range(3)
    ]
    changing = [{**frame, "task": f"go {n}"} for n, frame in enumerate(frames)]
    tensors, texts = flat([frames, changing])
    assert tensors["episodes.0.state"].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert tensors["episodes.1.done"].tolist() == [[False], [False], [True]]
    assert texts["episodes.0.task"] == "go"
    assert texts["episodes.1.task.2"] == "go 2"


def test_nothing_is_written_of_nothing(tmp_path: Path) -> None:
    shards = writer(tmp_path / "out")
    assert shards.write("q", 0, []) is None
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(CollectionError, match="a int is none that is known"):
        shards.write("q", 0, 3)


def test_shared_memory_is_written_for_each() -> None:
    tensor = torch.arange(6.0)
    tensors, _ = flat({"a": tensor, "b": tensor[2:4], "c": tensor.view(2, 3)})
    assert tensors["b"].tolist() == [2, 3]
    places = {t.untyped_storage().data_ptr() for t in tensors.values()}
    assert len(places) == 3


def test_what_is_there_stays_unless_told(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = writer(folder)
    first.write("q", 0, {"a": torch.ones(1)})
    first.write("q", 0, {"a": torch.ones(2)})
    first.finish({})
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="something in it already"):
        ShardWriter(folder)
    again = writer(folder, overwrite=True)
    again.write("q", 0, {"a": torch.zeros(1)})
    again.finish({})
    names = sorted(path.name for path in folder.iterdir())
    assert names == [MANIFEST, "notes.txt", "shard-0-000000.safetensors"]


def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="this is no folder"):
        ShardWriter(tmp_path / "file")
    with pytest.raises(WriteError, match="there is no folder"):
        ShardWriter(tmp_path / "not" / "there")
    empty = tmp_path / "empty"
    empty.mkdir()
    ShardWriter(empty)
