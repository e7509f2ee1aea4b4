"""What the formats' own clients read of our exports, against the source, bit for bit.

lerobot gives floats as float32 whatever the file holds, so float64 is compared with
its nearest float32 there. That a client loads a dataset proves nothing: these accept
shifted timestamps, wrong totals and missing columns.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.dataset.exporters.plan import ExportOptions
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.exporters.splits import Splits
from tests.core.dataset.made import FEATURES, MATRIX, PICTURE, made
from tests.referees.clients import environments

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.referee

CLIENTS = Path(__file__).with_name("clients")
LEROBOT = "ISOSCOPE_LEROBOT_PYTHON"
ISAAC_LAB = "ISOSCOPE_ISAACLAB_PYTHON"
MANISKILL = "ISOSCOPE_MANISKILL_PYTHON"
SPLITS = Splits({"train": 0.6, "valid": 0.4}, seed=1)


def dumped(
    python: Path, script: str, *arguments: str, env: Mapping[str, str]
) -> dict[str, np.ndarray[Any, Any]]:
    out = Path(env["HOME"]) / "dump.npz"
    first, *rest = arguments
    done = subprocess.run(
        [str(python), str(CLIENTS / script), first, str(out), *rest],
        env={**os.environ, **env, "PYTHONPATH": str(CLIENTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    with np.load(out) as file:
        return {name: file[name] for name in file.files}


def equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], what: str) -> None:
    assert a.dtype == b.dtype, what
    assert a.size == b.size, what
    assert a.tobytes() == b.reshape(a.shape).tobytes(), what


@pytest.mark.parametrize("client", ["0.4.4", "given"])
def test_lerobot_reads_every_bit(client: str, tmp_path: Path) -> None:
    """0.4.4 is made here; another, such as 0.6.1 on CPython 3.12, may be given."""
    given = os.environ.get(LEROBOT)
    if client == "given" and not given:
        pytest.skip(f"{LEROBOT} names no interpreter beside lerobot")
    python = environments.lerobot() if client == "0.4.4" else Path(str(given))
    source = made((30, 70, 1, 12), (*FEATURES, MATRIX, PICTURE), plain=True)
    result = export(
        source,
        "lerobot",
        tmp_path / "data",
        options=ExportOptions(next_observation=True),
        splits=SPLITS,
    )
    home = tmp_path / "home"
    home.mkdir()
    found = dumped(
        python,
        "dump_lerobot.py",
        str(result.path),
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "HOME": str(home)},
    )
    order = [*result.splits["train"], *result.splits["valid"]]
    assert order == [0, 1, 2, 3]
    written = [e for part in ("train", "valid") for e in _chosen(source, part)]
    for feature in source.features:
        target = result.fields[feature.name]
        rows = [
            source.read(e, feature.name)[: source.episodes[e].length] for e in written
        ]
        expected = np.concatenate(rows)
        got = found[target]
        if feature.role == "image":
            # channels first, and as fractions
            expected = expected.transpose(0, 3, 1, 2).astype(np.float32) / 255
        elif expected.dtype == np.float64:
            expected = expected.astype(np.float32)
        elif expected.dtype.kind in "iu":
            expected = expected.astype(np.int64)  # through Python's int
        equal(expected, got, target)
    for feature in source.features:
        if feature.per == "boundary" and feature.role != "image":
            rows = [source.read(e, feature.name)[1:] for e in written]
            expected = np.concatenate(rows).astype(np.float32)
            equal(expected, found[f"next.{result.fields[feature.name]}"], "next")
    lengths = [source.episodes[e].length for e in written]
    ends = np.cumsum(lengths)
    assert found["__episode_to"].tolist() == ends.tolist()
    assert found["__episode_from"].tolist() == (ends - lengths).tolist()
    assert found["index"].tolist() == list(range(int(ends[-1])))
    frames = np.concatenate([np.arange(n) for n in lengths])
    assert found["frame_index"].tolist() == frames.tolist()
    equal((frames / 50.0).astype(np.float32), found["timestamp"], "timestamp")
    tasks = [source.episodes[e].task for e in written]
    assert found["task"].tolist() == list(np.repeat(tasks, lengths))
    done = np.zeros(len(frames), bool)
    for e, end in zip(written, ends, strict=True):
        one = source.episodes[e]
        done[end - 1] = bool(one.terminated or one.truncated)
    equal(done, found["next.done"], "next.done")


def _chosen(source: Any, part: str) -> list[int]:
    from isoscope.core.dataset.exporters.splits import split

    return split(source.episodes, SPLITS)[part]


def test_minari_reads_every_bit(tmp_path: Path) -> None:
    pytest.importorskip("minari")
    source = made((30, 7, 1), (*FEATURES, MATRIX, PICTURE))
    result = export(source, "minari", tmp_path / "cartpole-v0")
    found = dumped(
        environments.minari(),
        "dump_minari.py",
        "cartpole-v0",
        env={"MINARI_DATASETS_PATH": str(tmp_path), "HOME": str(tmp_path)},
    )
    names = {
        f"episode_{e.index}.{result.fields[f.name].replace('/', '.')}"
        for e in source.episodes
        for f in source.features
    }
    assert names == set(found)
    for episode in source.episodes:
        for feature in source.features:
            target = result.fields[feature.name].replace("/", ".")
            got = found[f"episode_{episode.index}.{target}"]
            equal(source.read(episode.index, feature.name), got, target)


@pytest.mark.parametrize("key", [None, "train", "valid"])
def test_robomimic_reads_every_bit(key: str | None, tmp_path: Path) -> None:
    features = [f for f in FEATURES if f.role != "image"]
    source = made((30, 7, 1, 12), features, plain=True)
    result = export(source, "robomimic", tmp_path / "data.hdf5", splits=SPLITS)
    found = dumped(
        environments.robomimic(),
        "dump_robomimic.py",
        str(result.path),
        *([key] if key else []),
        env={"HOME": str(tmp_path)},
    )
    places = range(4) if key is None else result.splits[key]
    lengths = {e.index: e.length for e in source.episodes}
    for name in ("action", "reward"):
        rows = np.concatenate([source.read(e, name) for e in places])
        equal(rows, found[f"{name}s"].astype(rows.dtype), name)
    for name in ("position", "goal"):
        values = [source.read(e, f"observation/{name}") for e in places]
        before = np.concatenate([v[:-1] for v in values])
        after = np.concatenate([v[1:] for v in values])
        equal(before, found[f"obs.{name}"].astype(before.dtype), name)
        equal(after, found[f"next_obs.{name}"].astype(after.dtype), name)
    assert len(found["dones"]) == sum(lengths[e] for e in places)
    ended = [
        bool(source.episodes[e].terminated or source.episodes[e].truncated)
        for e in places
    ]
    last = np.cumsum([lengths[e] for e in places]) - 1
    assert found["dones"][last].astype(bool).reshape(-1).tolist() == ended
    assert found["dones"].sum() == sum(ended)


def given(setting: str, package: str) -> Path:
    """An interpreter beside a reader, with torch and h5py; else the test is skipped.

    The package itself is enough, installed without what it asks for: its simulator is
    never run. ManiSkill's needs tqdm and gymnasium too, Isaac Lab 3.0 CPython 3.12.
    """
    python = os.environ.get(setting)
    if not python:
        pytest.skip(f"{setting} names no interpreter beside {package}")
    return Path(python)


def test_isaac_lab_reads_every_bit(tmp_path: Path) -> None:
    """Its handler is loaded alone: see `dump_isaaclab.py` for what is made up."""
    python = given(ISAAC_LAB, "isaaclab")
    features = [f for f in FEATURES if f.role != "image"]
    source = made((30, 7, 1, 12), features, plain=True)
    result = export(
        source,
        "robomimic",
        tmp_path / "data.hdf5",
        options=ExportOptions(env_name="Isaac-Cartpole-v0"),
    )
    found = dumped(
        python,
        "dump_isaaclab.py",
        str(result.path),
        env={"HOME": str(tmp_path)},
    )
    assert sorted(found["__names"].tolist()) == [f"demo_{k}" for k in range(4)]
    assert str(found["__env"]) == "Isaac-Cartpole-v0"
    assert not found["__legacy"]
    for episode in source.episodes:
        demo = f"demo_{episode.index}"
        seed = -1 if episode.seed is None else episode.seed
        assert found[f"{demo}/__seed"] == seed
        equal(
            source.read(episode.index, "action"), found[f"{demo}/__replayed"], "action"
        )
        for feature in source.features:
            values = source.read(episode.index, feature.name)
            name = result.fields[feature.name]
            if name.startswith("obs/"):  # before each step
                after = found[f"{demo}/next_{name}"]
                equal(values[1:], after, f"next_{name}")
                values = values[:-1]
            elif name.startswith("states/"):  # after each step, and what it began in
                rest = name.removeprefix("states/")
                first = found[f"{demo}/initial_state/{rest}"]
                equal(values[:1], first, f"initial_state/{rest}")
                values = values[1:]
            equal(values, found[f"{demo}/{name}"], name)


def test_maniskill_reads_every_bit(tmp_path: Path) -> None:
    """Its dataset is loaded alone: see `dump_maniskill.py` for what is made up."""
    python = given(MANISKILL, "mani_skill")
    features = [f for f in FEATURES if f.role != "image"]
    source = made((30, 7, 1, 12), features, plain=True)
    result = export(
        source,
        "maniskill",
        tmp_path / "data",
        options=ExportOptions(env_name="PickCube-v1"),
    )
    found = dumped(
        python,
        "dump_maniskill.py",
        str(result.path / "trajectory.h5"),
        env={"HOME": str(tmp_path)},
    )
    assert str(found["__env"]) == "PickCube-v1"
    seeds = [-1 if e.seed is None else e.seed for e in source.episodes]
    assert found["__seeds"].tolist() == seeds
    for feature in source.features:
        name = result.fields[feature.name]
        if name.split("/")[0] not in found and name not in found:
            continue  # states, infos and terms are nothing that this client gives
        rows = [source.read(e.index, feature.name) for e in source.episodes]
        if feature.per == "boundary":
            rows = [values[:-1] for values in rows]  # as it says of itself
        equal(np.concatenate(rows), found[name], name)
    equal(
        np.concatenate([source.read(e.index, "action") for e in source.episodes]),
        found["__items"],
        "items",
    )
    have = {key.split("/")[0] for key in found if not key.startswith("__")}
    assert have == {"obs", "actions", "terminated", "truncated", "rewards"}
