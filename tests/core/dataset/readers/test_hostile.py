"""Datasets that lie, or reach outside: one message, nothing else opened or written."""

from __future__ import annotations

import json
import os
import pickle
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import ReadError
from tests.core.dataset.made import made
from tests.core.dataset.readers import foreign
from tests.core.dataset.readers.foreign import numbers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "secret.h5"


def read_all(path: Path) -> Any:
    """Open, and read everything."""
    found = open_episodes(path)
    try:
        for episode in found.episodes:
            for feature in found.features:
                found.read(episode.index, feature.name)
    finally:
        found.close()
    return found


def info(root: Path, **changes: Any) -> None:
    path = root / "meta/info.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"data_path": "/etc/passwd"}, "leads out"),
        ({"data_path": "../{chunk_index:03d}/{file_index:03d}"}, "leads out"),
        ({"data_path": "{chunk_index.__class__}"}, "no pattern"),
        ({"data_path": "{episode_index:06d}.parquet"}, "asks for"),
        ({"data_path": 7}, "no text"),
        ({"codebase_version": "v9"}, "codebase_version 'v9'"),
        ({"features": []}, "no features"),
    ],
)
def test_an_info_that_leads_astray(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    root = foreign.lerobot(tmp_path / "a")
    info(root, **changes)
    with pytest.raises(ReadError, match=says):
        read_all(root)


def test_an_info_that_lies_is_told(tmp_path: Path) -> None:
    root = foreign.lerobot(tmp_path / "a")
    told = json.loads((root / "meta/info.json").read_text())
    told["features"]["ghost"] = {"dtype": "float32", "shape": [1], "names": None}
    info(root, total_frames=99, total_episodes=1, fps=-3, features=told["features"])
    found = read_all(root)
    text = "; ".join(found.problems)
    for words in ("total_frames 99", "total_episodes 1", "fps -3", "lists ghost"):
        assert words in text
    assert found.control_hz is None
    assert "ghost" not in {f.name for f in found.features}


def swap(root: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = root / "data/chunk-000/file-001.parquet"
    pq.write_table(change(pq.read_table(path)), path)


def test_rows_of_other_episodes_are_not_taken(tmp_path: Path) -> None:
    root = foreign.lerobot(tmp_path / "a")
    swap(root, lambda t: t.slice(1))
    with pytest.raises(ReadError, match="not all of episode"):
        read_all(root)
    root = foreign.lerobot(tmp_path / "b")
    swap(root, lambda t: t.take(list(reversed(range(len(t))))))
    with pytest.raises(ReadError, match="not all of episode"):
        read_all(root)


def test_parquet_that_is_cut(tmp_path: Path) -> None:
    root = foreign.lerobot(tmp_path / "a")
    path = root / "data/chunk-000/file-000.parquet"
    whole = path.read_bytes()
    for size in (0, 3, 100, len(whole) - 1, len(whole) - 9):
        path.write_bytes(whole[:size])
        with pytest.raises(ReadError, match="cut or damaged"):
            read_all(root)
    path.unlink()
    with pytest.raises(ReadError, match="no such file"):
        read_all(root)


def test_a_parquet_bomb(tmp_path: Path) -> None:
    from isoscope.core.dataset.readers.arrow import Parquet

    path = tmp_path / "bomb.parquet"
    wide = pa.list_(pa.float32(), 1 << 12)
    wide = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(1 << 20, "f4")), 1 << 12)
    pq.write_table(pa.table({"x": wide}), path, compression="zstd")
    assert path.stat().st_size < 1 << 14  # 4 MiB of zeros
    found = Parquet(path)
    assert found.rows("x", 0, 1).shape == (1, 1 << 12)
    # More such rows than may be: nothing is read of them.
    found = Parquet(path)
    found.ends = np.array([0, 1 << 20])
    with pytest.raises(ReadError, match="MiB"):
        found.rows("x", 0, 1)


@pytest.mark.parametrize("what", ["data", "meta/info.json", "meta/episodes"])
def test_links_out_of_the_folder(what: str, tmp_path: Path) -> None:
    root = foreign.lerobot(tmp_path / "a")
    outside = tmp_path / "outside"
    os.replace(root / what, outside)
    (root / what).symlink_to(outside)
    with pytest.raises(ReadError, match="not in its folder"):
        read_all(root)


def hdf5(tmp_path: Path, change: Callable[[h5py.Group], None]) -> Path:
    path = foreign.robomimic(tmp_path / "a.hdf5")
    with h5py.File(tmp_path / SECRET, "w") as file:
        file["x"] = numbers(4, 3, dtype=np.float64)
    with h5py.File(path, "a") as file:
        change(file["data/demo_0"])
    return path


def external_link(demo: h5py.Group) -> None:
    del demo["obs/eef"]
    demo["obs/eef"] = h5py.ExternalLink(SECRET, "/x")


def soft_link(demo: h5py.Group) -> None:
    del demo["obs/eef"]
    demo["obs/eef"] = h5py.SoftLink("/data/demo_1/obs/eef")


def virtual(demo: h5py.Group) -> None:
    del demo["obs/eef"]
    layout = h5py.VirtualLayout((4, 3), "f8")
    layout[:] = h5py.VirtualSource(SECRET, "x", (4, 3))
    demo.create_virtual_dataset("obs/eef", layout)


def stored_elsewhere(demo: h5py.Group) -> None:
    del demo["obs/eef"]
    demo.create_dataset("obs/eef", (4, 3), "f8", external=[(SECRET, 0, 96)])


def objects(demo: h5py.Group) -> None:
    del demo["obs/eef"]
    kind = h5py.vlen_dtype(np.uint8)
    demo.create_dataset("obs/eef", (4,), kind)
    demo["obs/eef"][0] = np.frombuffer(pickle.dumps(print), np.uint8)


def bomb(demo: h5py.Group) -> None:
    del demo["obs/eef"]
    demo.create_dataset("obs/eef", (4, 1 << 40), "f8", chunks=(1, 1 << 10))


@pytest.mark.parametrize(
    "change", [external_link, soft_link, virtual, stored_elsewhere, objects, bomb]
)
def test_hdf5_that_reaches_out(
    change: Callable[[h5py.Group], None], tmp_path: Path
) -> None:
    path = hdf5(tmp_path, change)
    found = open_episodes(path)
    assert "obs/eef" not in {f.name for f in found.features}
    assert any("obs/eef is not read" in p for p in found.problems), found.problems
    found.close()
    # In another episode than the first it is met when that is read.
    with h5py.File(path, "a") as file:
        file.move("data/demo_0", "data/demo_7")
        file.move("data/demo_1", "data/demo_0")
    with pytest.raises(ReadError):
        read_all(path)


def test_an_episode_may_be_no_link_either(tmp_path: Path) -> None:
    path = foreign.robomimic(tmp_path / "a.hdf5")
    with h5py.File(path, "a") as file:
        file["data/demo_9"] = h5py.ExternalLink(SECRET, "/")
    with pytest.raises(ReadError, match="link"):
        read_all(path)


def test_a_group_in_itself(tmp_path: Path) -> None:
    path = foreign.robomimic(tmp_path / "a.hdf5")
    with h5py.File(path, "a") as file:
        file["data/demo_0/obs/loop"] = file["data/demo_0"]
    with pytest.raises(ReadError, match="more in it"):
        read_all(path)


def test_names_are_no_paths(tmp_path: Path) -> None:
    source = made()  # whose ids have dots and slashes in them
    for format in ("robomimic", "lerobot", "shards", "maniskill"):
        export(source, format, tmp_path / format)
        found = open_episodes(tmp_path / format)
        assert found.episodes[0].id == "e0/../0"
        found.close()
    assert len(list(tmp_path.iterdir())) == 4


def test_a_manifest_that_leads_astray(tmp_path: Path) -> None:
    root = export(made((3,)), "shards", tmp_path / "a").path
    manifest = root / "manifest.json"
    told = json.loads(manifest.read_text())
    for name in ("../x.safetensors", "/x.safetensors", "a/b.safetensors", "x.pt"):
        told["shards"][0]["file"] = name
        manifest.write_text(json.dumps(told))
        with pytest.raises(ReadError, match="no shard"):
            read_all(root)
    told["shards"][0]["tensors"] = {"a": ["float32", [1, 1 << 60]]}
    told["shards"][0]["file"] = "shard-0-000000.safetensors"
    manifest.write_text(json.dumps(told))
    with pytest.raises(ReadError, match="makes no sense"):
        read_all(root)


def test_a_sidecar_that_lies_is_left_out(tmp_path: Path) -> None:
    root = export(made((3, 4)), "lerobot", tmp_path / "a").path
    beside = root / "meta/isoscope.json"
    told = json.loads(beside.read_text())
    told["episodes"]["length"] = [1 << 50, 4]
    beside.write_text(json.dumps(told))
    found = read_all(root)
    assert [e.length for e in found.episodes] == [3, 4]
    assert "transitions" in found.problems[0]
    for broken in (b"{", b"[]", b"\xff", b'{"schema":"isoscope.dataset/1"}'):
        beside.write_bytes(broken)
        read_all(root)


def test_pickles_are_not_taken_for_json(tmp_path: Path) -> None:
    class Bad:
        def __reduce__(self) -> Any:
            return (os.system, (f"touch {tmp_path}/run",))

    root = foreign.lerobot(tmp_path / "a")
    (root / "meta/info.json").write_bytes(pickle.dumps(Bad()))
    (root / "meta/isoscope.json").write_bytes(pickle.dumps(Bad()))
    with pytest.raises(ReadError, match="JSON"):
        read_all(root)
    data = foreign.minari(tmp_path / "b-v0") / "data"
    (data / "isoscope.json").write_bytes(pickle.dumps(Bad()))
    read_all(tmp_path / "b-v0")
    assert not (tmp_path / "run").exists()
