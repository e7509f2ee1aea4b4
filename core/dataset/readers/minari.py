"""The reader of Minari's datasets, in HDF5 or Arrow; needs no minari.

A dataset is a folder ``<name>-v<number>`` with ``data`` in it. Source: minari 0.5.4's
storages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.dataset.readers.episodic import EpisodicFile, role_by_name
from isoscope.core.dataset.readers.places import (
    has,
    inside,
    json_object,
    read_file,
    read_json,
)
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.core.dataset.sidecar import parse
from isoscope.core.errors import MissingExtraError, ReadError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Role
    from isoscope.core.dataset.readers.base import Dataset

FORMAT = "minari"
METADATA = "metadata.json"
MAIN = "main_data.hdf5"
SIDECAR = "isoscope.json"


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is such a folder, or the `data` in it."""
    if not path.is_dir():
        return False
    data = data_folder(path)
    if not has(data, METADATA):
        return False
    try:
        return "data_format" in read_json(data, METADATA)
    except ReadError:
        return True  # broken JSON there: the reader says so


def data_folder(path: Path) -> Path:
    """The folder that holds the metadata."""
    return path if has(path, METADATA) else path / "data"


def open_episodes(path: Path) -> Dataset:
    """Open a dataset; raises ReadError."""
    data = data_folder(path)
    if data != path:
        inside(path, f"{data.name}/{METADATA}")  # else a link could lead anywhere
    metadata = read_json(data, METADATA)
    kind = metadata.get("data_format", "hdf5")
    if kind == "hdf5":
        return MinariFile(path, inside(data, MAIN), metadata)
    if kind == "arrow":
        try:
            from isoscope.core.dataset.readers.minari_arrow import MinariArrow
        except ImportError:
            raise MissingExtraError(
                "reading Minari's Arrow storage", "data", "pyarrow"
            ) from None
        return MinariArrow(path, data, metadata)
    raise ReadError("opening", data / METADATA, f"data_format {kind!r} is not known")


def open_source(path: Path) -> DatasetSource:
    """Open a dataset for the window; raises ReadError."""
    return DatasetSource(open_episodes(path))


def facts_of(metadata: dict[str, Any], path: Path) -> dict[str, Any]:
    """What the metadata says of where the data comes from."""
    facts = {
        key: metadata[key]
        for key in (
            "dataset_id",
            "algorithm_name",
            "author",
            "code_permalink",
            "description",
            "minari_version",
        )
        if metadata.get(key)
    }
    spec = metadata.get("env_spec")
    if isinstance(spec, str):
        facts["env_spec"] = json_object(spec, path, "env_spec")
    return facts


def check_totals(dataset: Dataset, metadata: dict[str, Any]) -> None:
    """Tell where the metadata counts otherwise than the data."""
    told = metadata.get("total_episodes")
    if isinstance(told, int) and told != len(dataset.episodes):
        dataset.problems.append(
            f"its metadata counts {told} episodes, but there are "
            f"{len(dataset.episodes)}"
        )


class MinariFile(EpisodicFile):
    """An opened dataset in HDF5; see `isoscope.core.dataset.readers.base.Dataset`."""

    def __init__(self, path: Path, file: Path, metadata: dict[str, Any]) -> None:
        super().__init__(path, file, FORMAT, "", "episode_")
        try:
            self.identity = facts_of(metadata, file)
            check_totals(self, metadata)
            if has(file.parent, SIDECAR):
                self.take(parse(read_file(file.parent, SIDECAR)))
        except BaseException:
            self.close()
            raise

    def length(self, episode: int) -> int:
        """T, from how many rewards there are."""
        place = f"{self.place(episode)}/rewards"
        shape, _ = self.tree.shape(place)
        return shape[0] if shape else 0

    def ends(self, index: int, length: int) -> tuple[bool | None, bool | None]:
        """How the episode ended: terminated, truncated."""
        return (
            self.flag(index, "terminations", length),
            self.flag(index, "truncations", length),
        )

    def role(self, name: str) -> Role:
        """What a dataset of this name is."""
        return role_by_name(name)
