"""What is hostile in one format is hostile in all: links, pickles, paths, bombs."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from isoscope.core.dataset.exporters.registry import EXPORTERS
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.readers import lerobot_meta
from isoscope.core.dataset.readers.arrow import Parquet
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import IsoscopeError, ReadError
from tests.core.dataset.made import made
from tests.core.dataset.readers import foreign
from tests.core.dataset.readers.foreign import numbers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MADE: dict[str, Callable[[Path], Path]] = {
    "lerobot": lambda p: foreign.lerobot(p / "a"),
    "lerobot-2": lambda p: foreign.lerobot(p / "a", version="v2.1"),
    "minari": lambda p: foreign.minari(p / "a-v0"),
    "minari-arrow": lambda p: foreign.minari(p / "a-v0", kind="arrow"),
    "maniskill": lambda p: foreign.maniskill(p / "a"),
    "shards": lambda p: export(made((3, 4)), "shards", p / "a").path,
    "robomimic": lambda p: foreign.robomimic(p / "a.hdf5"),
    "our-lerobot": lambda p: export(made((3, 4)), "lerobot", p / "a").path,
    "our-maniskill": lambda p: export(made((3, 4)), "maniskill", p / "a").path,
}
FOLDERS = sorted(set(MADE) - {"robomimic"})
H5 = {  # where the HDF5 is, an episode's group in it, and a dataset of that
    "minari": ("data/main_data.hdf5", "episode_0", "observations/a"),
    "maniskill": (
        "trajectory.state.pd_joint_delta_pos.physx_cpu.h5",
        "traj_0",
        "env_states/actors/cube",
    ),
}


def read_all(path: Path) -> None:
    found = open_episodes(path)
    try:
        for episode in found.episodes:
            for feature in found.features:
                found.read(episode.index, feature.name)
        stats = getattr(found, "stored_stats", None)
        if stats is not None:
            stats()
    finally:
        found.close()


def parts(root: Path) -> list[Path]:
    """Files and folders of a dataset, below its own."""
    return sorted(p.relative_to(root) for p in root.rglob("*"))


@pytest.mark.parametrize("kind", FOLDERS)
def test_no_part_may_be_a_link_out_of_the_folder(kind: str, tmp_path: Path) -> None:
    """Moved outside with a link left in its place, no part is read any more."""
    original = MADE[kind](tmp_path)
    for number, part in enumerate(parts(original)):
        root = tmp_path / f"{number}" / original.name
        shutil.copytree(original, root)
        outside = tmp_path / f"outside{number}{part.suffix}"
        os.replace(root / part, outside)
        (root / part).symlink_to(outside)
        if part.name == "tasks.parquet":
            continue  # nobody reads it: the list of episodes has the tasks
        # Without what tells the format it is no dataset at all.
        says = r"not in its folder|no such file|no .*in|not a dataset"
        with pytest.raises(ReadError, match=says):
            read_all(root)


@pytest.mark.parametrize("kind", sorted(MADE))
def test_no_pickle_is_run(kind: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    class Bad:
        def __reduce__(self) -> Any:
            return (os.system, (f"touch {ran}",))

    original = MADE[kind](tmp_path)
    files = [original] if original.is_file() else list(original.rglob("*"))
    for number, file in enumerate(f for f in files if f.is_file()):
        root = tmp_path / f"{number}" / original.name
        if original.is_file():
            root.parent.mkdir()
            shutil.copy(original, root)
            target = root
        else:
            shutil.copytree(original, root)
            target = root / file.relative_to(original)
        target.write_bytes(pickle.dumps(Bad()))
        with suppress(IsoscopeError):
            read_all(root)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/etc/passwd", "leads out"),
        ("../../secret/{episode_index:06d}.parquet", "leads out"),
        ("data/../../{episode_index:06d}.parquet", "leads out"),
        ("{episode_index.__class__}", "no pattern"),
        ("{chunk_index:03d}", "asks for"),
        (["data"], "no text"),
    ],
)
def test_an_older_info_that_leads_astray(path: Any, says: str, tmp_path: Path) -> None:
    root = foreign.lerobot(tmp_path / "a", version="v2.1")
    info = root / "meta/info.json"
    info.write_text(json.dumps({**json.loads(info.read_text()), "data_path": path}))
    with pytest.raises(ReadError, match=says):
        read_all(root)


def external_link(group: h5py.Group, name: str, shape: Any, secret: str) -> None:
    group[name] = h5py.ExternalLink(secret, "/x")


def soft_link(group: h5py.Group, name: str, shape: Any, secret: str) -> None:
    group["there"] = numbers(*shape)
    group[name] = h5py.SoftLink("there")


def virtual(group: h5py.Group, name: str, shape: Any, secret: str) -> None:
    layout = h5py.VirtualLayout(shape, "f4")
    layout[:] = h5py.VirtualSource(secret, "x", shape)
    group.create_virtual_dataset(name, layout)


def elsewhere(group: h5py.Group, name: str, shape: Any, secret: str) -> None:
    size = int(np.prod(shape)) * 4
    group.create_dataset(name, shape, "f4", external=[(secret, 0, size)])


def bomb(group: h5py.Group, name: str, shape: Any, secret: str) -> None:
    group.create_dataset(name, (shape[0], 1 << 40), "f4", chunks=(1, 1 << 10))


CHANGES = (external_link, soft_link, virtual, elsewhere, bomb)


@pytest.mark.parametrize("kind", sorted(H5))
@pytest.mark.parametrize("change", CHANGES)
def test_hdf5_in_a_folder_that_reaches_out(
    kind: str, change: Callable[..., None], tmp_path: Path
) -> None:
    root = MADE[kind](tmp_path)
    file, group, name = H5[kind]
    secret = tmp_path / "secret.h5"
    with h5py.File(root / file, "a") as opened:
        old = opened[group][name]
        shape = old.shape
        with h5py.File(secret, "w") as beside:
            beside["x"] = numbers(*shape)
        del opened[group][name]
        change(opened[group], name, shape, str(secret))
    found = open_episodes(root)
    assert name not in {f.name for f in found.features}
    assert any(f"{name} is not read" in p for p in found.problems), found.problems
    found.close()
    # Met in a later episode, it is one message as that is read.
    with h5py.File(root / file, "a") as opened:
        later = group.replace("0", "1")
        opened.move(later, "kept")
        opened.move(group, later)
        opened.move("kept", group)
    with pytest.raises(ReadError):
        read_all(root)


def test_an_arrow_bomb(tmp_path: Path) -> None:
    root = foreign.minari(tmp_path / "a-v0", lengths=(4, 400), kind="arrow")
    part = root / "data/1/part-0.arrow"
    table = pa.ipc.open_file(part.read_bytes()).read_all()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(part), table.schema, options=options) as out:
        out.write_table(table)
    read_all(root)  # compressed, but honest
    # Each compressed buffer begins with how long it is unpacked.
    content = part.read_bytes()
    at = content.index(struct.pack("<q", table.column("rewards").nbytes))
    part.write_bytes(content[:at] + struct.pack("<q", 1 << 40) + content[at + 8 :])
    with pytest.raises(ReadError, match="unpacks to more than"):
        read_all(root)


def test_a_list_of_more_episodes_than_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = foreign.lerobot(tmp_path / "a")
    monkeypatch.setattr(lerobot_meta, "MAX_EPISODES", 2)
    monkeypatch.setattr(Parquet, "table", None)  # nothing is read of it
    with pytest.raises(ReadError, match="lists 3 episodes"):
        open_episodes(root)


# A labelled recording is only a part of another, whose episodes have its own names.
@pytest.mark.parametrize("format", sorted(set(EXPORTERS) - {"isoscope"}))
def test_an_episode_named_like_a_path_is_written_nowhere_else(
    format: str, tmp_path: Path
) -> None:
    if format == "minari":
        pytest.importorskip("minari")
    target = tmp_path / "deep" / "er" / "name-v0"
    target.parent.mkdir(parents=True)
    source = made((3, 4))  # whose ids have dots and slashes in them
    export(source, format, target)
    assert [p.name for p in tmp_path.iterdir()] == ["deep"]
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["er"]
    assert [p.name for p in target.parent.iterdir()] == ["name-v0"]
