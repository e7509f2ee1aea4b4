"""Datasets as others write them: by h5py, pyarrow and json alone, without a sidecar."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LENGTHS = (4, 3, 6)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Numbers that are all different."""
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def robomimic(path: Path, lengths: Sequence[int] = LENGTHS, *, next_obs: bool = True):  # type: ignore[no-untyped-def]
    """robomimic's own layout; without `next_obs` like Isaac Lab's."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = sum(lengths)
        args = {"env_name": "Lift", "type": 1, "env_kwargs": {"control_freq": 20}}
        data.attrs["env_args"] = json.dumps(args)
        for k, length in enumerate(lengths):
            demo = data.create_group(f"demo_{k}")
            demo.attrs["num_samples"] = length
            demo["actions"] = numbers(length, 2) + k
            demo["rewards"] = numbers(length)
            demo["dones"] = np.eye(1, length, length - 1, dtype=np.int64)[0]
            values = numbers(length + 1, 3, dtype=np.float64) + 10 * k
            demo["obs/eef"] = values[:-1]
            if next_obs:
                demo["next_obs/eef"] = values[1:]
            else:
                pose = numbers(length + 1, 7)
                demo["initial_state/articulation/robot/root_pose"] = pose[:1]
                demo["states/articulation/robot/root_pose"] = pose[1:]
                demo.attrs["success"] = bool(k % 2)
                file.attrs["format_version"] = 1
        names = [f"demo_{k}".encode() for k in range(len(lengths))]
        file["mask/train"] = np.array(names[1:], "S")
    return path


def maniskill(folder: Path, lengths: Sequence[int] = LENGTHS) -> Path:
    """ManiSkill's: HDF5 and JSON."""
    folder.mkdir()
    path = folder / "trajectory.state.pd_joint_delta_pos.physx_cpu.h5"
    listed = []
    with h5py.File(path, "w") as file:
        for k, length in enumerate(lengths):
            one = file.create_group(f"traj_{k}", track_order=True)
            one["obs"] = numbers(length + 1, 3)
            one["actions"] = numbers(length, 2)
            one["terminated"] = np.arange(length) == length - 1
            one["truncated"] = np.zeros(length, bool)
            one["env_states/actors/cube"] = numbers(length + 1, 13)
            listed.append(
                {"episode_id": k, "episode_seed": 100 + k, "elapsed_steps": length}
            )
    told = {"env_info": {"env_id": "PickCube-v1"}, "episodes": listed}
    path.with_suffix(".json").write_text(json.dumps(told))
    return folder


def minari(folder: Path, lengths: Sequence[int] = LENGTHS, kind: str = "hdf5") -> Path:
    """Minari's, in either storage."""
    data = folder / "data"
    data.mkdir(parents=True)
    box = {"type": "Box", "dtype": "float32", "shape": [2, 3]}
    told = {
        "total_episodes": len(lengths),
        "total_steps": sum(lengths),
        "data_format": kind,
        "observation_space": json.dumps({"type": "Dict", "subspaces": {"a": box}}),
        "action_space": json.dumps({"type": "Discrete", "n": 5, "start": 0}),
        "dataset_id": folder.name,
    }
    (data / "metadata.json").write_text(json.dumps(told))
    if kind == "hdf5":
        with h5py.File(data / "main_data.hdf5", "w") as file:
            for k, length in enumerate(lengths):
                one = file.create_group(f"episode_{k}")
                one.attrs.update({"id": k, "seed": k, "total_steps": length})
                one["observations/a"] = numbers(length + 1, 2, 3)
                one["actions"] = numbers(length, dtype=np.int64) % 5
                one["rewards"] = numbers(length, dtype=np.float64)
                one["terminations"] = np.arange(length) == length - 1
                one["truncations"] = np.zeros(length, bool)
                one["infos/success"] = np.zeros(length + 1, bool)
        return folder
    for k, length in enumerate(lengths):
        part = data / str(k)
        part.mkdir()
        (part / "metadata.json").write_text(
            json.dumps({"id": k, "total_steps": length, "seed": k})
        )

        def padded(values: np.ndarray[Any, Any]) -> pa.Array:
            return pa.array(np.concatenate([values, values[:1] * 0]))

        inner = pa.FixedSizeListArray.from_arrays(
            pa.array(numbers(length + 1, 2, 3).reshape(-1)), 6
        )
        table = pa.record_batch(
            {
                "observations": pa.StructArray.from_arrays([inner], ["a"]),
                "actions": padded(numbers(length, dtype=np.int64) % 5),
                "rewards": padded(numbers(length, dtype=np.float64)),
                "terminations": padded(np.arange(length) == length - 1),
                "truncations": padded(np.zeros(length, bool)),
            }
        )
        with pa.ipc.new_file(str(part / "part-0.arrow"), table.schema) as out:
            out.write_batch(table)
    return folder


def lerobot(
    root: Path, lengths: Sequence[int] = LENGTHS, version: str = "v3.0"
) -> Path:
    """LeRobot's, 3.0 in two files, or 2.1 in a file an episode."""
    (root / "meta").mkdir(parents=True)
    path3 = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    path2 = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    one = {"dtype": "int64", "shape": [1], "names": None}
    info = {
        "codebase_version": version,
        "fps": 25,
        "features": {
            "observation.state": {
                "dtype": "float32",
                "shape": [3],
                "names": ["a", "b", "c"],
            },
            "action": {"dtype": "float32", "shape": [1], "names": None},
            "next.reward": {"dtype": "float32", "shape": [1], "names": None},
            "timestamp": {"dtype": "float32", "shape": [1], "names": None},
            **dict.fromkeys(
                ("frame_index", "episode_index", "index", "task_index"), one
            ),
        },
        "total_episodes": len(lengths),
        "total_frames": sum(lengths),
        "chunks_size": 1000,
        "data_path": path3 if version == "v3.0" else path2,
        "splits": {"train": f"0:{len(lengths)}"},
    }
    (root / "meta/info.json").write_text(json.dumps(info))
    begin = 0
    tables, listed = [], []
    for k, length in enumerate(lengths):
        frame = np.arange(length)
        state = (numbers(length, 3) + 100 * k).reshape(-1)
        tables.append(
            pa.table(
                {
                    "observation.state": pa.FixedSizeListArray.from_arrays(
                        pa.array(state), 3
                    ),
                    "action": pa.array(numbers(length) + k),
                    "next.reward": pa.array(numbers(length)),
                    "timestamp": pa.array((frame / 25).astype(np.float32)),
                    "frame_index": frame,
                    "episode_index": np.full(length, k),
                    "index": frame + begin,
                    "task_index": np.zeros(length, np.int64),
                }
            )
        )
        listed.append(
            {
                "episode_index": k,
                "tasks": ["pick"],
                "length": length,
                "data/chunk_index": 0,
                "data/file_index": int(k > 0),
                "dataset_from_index": begin,
                "dataset_to_index": begin + length,
            }
        )
        begin += length
    folder = root / "data/chunk-000"
    folder.mkdir(parents=True)
    if version == "v3.0":
        pq.write_table(tables[0], folder / "file-000.parquet")
        pq.write_table(pa.concat_tables(tables[1:]), folder / "file-001.parquet")
        (root / "meta/episodes/chunk-000").mkdir(parents=True)
        pq.write_table(
            pa.Table.from_pylist(listed),
            root / "meta/episodes/chunk-000/file-000.parquet",
        )
        return root
    with (root / "meta/episodes.jsonl").open("w") as out:
        for k, table in enumerate(tables):
            pq.write_table(table, folder / f"episode_{k:06d}.parquet")
            told = {"episode_index": k, "tasks": ["pick"], "length": lengths[k]}
            out.write(json.dumps(told) + "\n")
    return root
