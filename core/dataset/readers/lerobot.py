"""The reader of LeRobot's datasets, versions 2.1 and 3.0.

Frames are rows of Parquet files, several episodes a file (3.0) or one (2.1). What an
episode ended in is not among them. Source: lerobot 0.4.4 and 0.6.1, as they write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.model import Episode, Feature
from isoscope.core.dataset.readers.base import Dataset
from isoscope.core.dataset.readers.places import has, inside, read_file, read_json
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.core.dataset.sidecar import parse
from isoscope.core.errors import MissingExtraError, ReadError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Per, Role, StoredStats
    from isoscope.core.dataset.readers.arrow import Parquet
    from isoscope.core.dataset.readers.lerobot_meta import Span
    from isoscope.core.recording.tracks import Array

FORMAT = "lerobot"
INFO = "meta/info.json"
SIDECAR = "meta/isoscope.json"
COUNTERS = ("frame_index", "episode_index", "index", "task_index")
OPEN_FILES = 16
CHECKED_ROWS = 1 << 16
_HOLE = re.compile(r"\{(\w+):0(\d)d\}")


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is such a folder, or the info.json in it."""
    if path.is_dir():
        return has(path, INFO)
    return path.name == "info.json" and b'"codebase_version"' in head


def open_episodes(path: Path) -> LeRobot:
    """Open a dataset; raises ReadError."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "reading LeRobot's Parquet", "data", "pyarrow"
        ) from None
    return LeRobot(path)


def open_source(path: Path) -> DatasetSource:
    """Open a dataset for the window; raises ReadError."""
    return DatasetSource(open_episodes(path))


def filled(template: Any, root: Path, **values: int) -> str:
    """A file's name from the pattern that info.json has for it; checked.

    Raises
    ------
    ReadError
        If the pattern asks for anything but these numbers.
    """
    if not isinstance(template, str):
        raise ReadError("reading", root / INFO, "data_path is no text")

    def put(found: re.Match[str]) -> str:
        name, width = found.groups()
        if name not in values:
            raise ReadError("reading", root / INFO, f"data_path asks for {name!r}")
        return f"{values[name]:0{width}d}"

    name = _HOLE.sub(put, template)
    if "{" in name or "}" in name:
        raise ReadError("reading", root / INFO, f"data_path {template!r} is no pattern")
    return name


class LeRobot(Dataset):
    """An opened dataset; see `isoscope.core.dataset.readers.base.Dataset`."""

    def __init__(self, path: Path) -> None:
        from isoscope.core.dataset.readers import lerobot_meta as meta

        root = path if path.is_dir() else path.resolve().parent.parent
        self._files: dict[str, Parquet] = {}
        self._checked: set[str] = set()
        self._closed = False
        self.info = read_json(root, INFO)
        version = self.info.get("codebase_version")
        if version not in ("v2.0", "v2.1", "v3.0"):
            raise ReadError(
                "opening",
                root / INFO,
                f"codebase_version {version!r} is not known",
                remedy="versions 2.1 and 3.0 can be read",
            )
        self.spans: list[Span] = (
            meta.spans_3(root, self.info)
            if version == "v3.0"
            else meta.spans_2(root, self.info)
        )
        super().__init__(path, FORMAT, (), len(self.spans))
        self.name = root.name
        self.root = root
        self.problems += meta.problems(self.info, self.spans)
        self.control_hz = meta.fps_of(self.info)
        self.identity = {
            key: self.info[key]
            for key in ("codebase_version", "robot_type")
            if self.info.get(key)
        }
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._pictures: set[str] = set()
        self._set(self._features())
        self.splits = meta.splits_of(self.info, len(self.spans))
        if has(root, SIDECAR):
            self.take(parse(read_file(root, SIDECAR)))

    def stored_stats(self) -> StoredStats | None:
        """What the dataset says of its own values; raises ReadError."""
        from isoscope.core.dataset.readers.lerobot_stats import stats_of

        plain = [f.name for f in self.features if f.role != "image"]
        return stats_of(
            self.root,
            listed=self.info.get("codebase_version") == "v3.0",
            indices=[span.index for span in self.spans],
            names=plain,
        )

    def _features(self) -> list[Feature]:
        told = self.info.get("features")
        if not isinstance(told, dict):
            raise self.error("info.json lists no features")
        schema = self._file(self.spans[0].file).schema if self.spans else None
        out: list[Feature] = []
        for name, about in told.items():
            if name in COUNTERS or not isinstance(about, dict):
                continue
            found = self._feature(name, about, schema)
            if found is not None:
                out.append(found)
        return out

    def _feature(self, name: str, about: dict[str, Any], schema: Any) -> Feature | None:
        from isoscope.core.dataset.readers.arrow import value_type

        kind, shape = about.get("dtype"), about.get("shape")
        if not isinstance(shape, list) or not all(type(n) is int for n in shape):
            self.problems.append(f"{name} has no shape in info.json")
            return None
        if kind in ("video", "string"):
            self.problems.append(f"{name} is not read: {kind}")
            return None
        if schema is not None and name not in schema.names:
            self.problems.append(f"info.json lists {name}, which its Parquet lacks")
            return None
        role = role_of(name)
        if kind == "image":
            self._pictures.add(name)
            return Feature(
                name, "image", np.dtype(np.uint8), tuple(shape), per="boundary"
            )
        known = None if schema is None else value_type(schema.field(name).type)
        if schema is not None and known is None:
            self.problems.append(
                f"{name} is {schema.field(name).type} in its Parquet: not read"
            )
            return None
        dtype = np.dtype(str(kind)) if known is None else known[0]
        if known is not None and dtype.name != kind:
            self.problems.append(f"{name} is {dtype} in its Parquet, not {kind}")
        inner = tuple(shape)
        if known is not None and not known[1]:
            inner = (1,) if role in ("observation", "action", "raw_action") else ()
            if int(np.prod(shape)) != 1:
                self.problems.append(f"{name} is one number a row, not {shape}")
        elif known is not None and any(
            a not in (-1, b) for a, b in zip(known[1], inner, strict=False)
        ):
            self.problems.append(f"{name} is {known[1]} in its Parquet, not {shape}")
            return None
        per: Per = "boundary" if role == "observation" else "step"
        return Feature(name, role, dtype, inner, _names(about, inner), per=per)

    def _file(self, name: str) -> Parquet:
        from isoscope.core.dataset.readers.arrow import Parquet

        if self._closed:
            raise self.error("it was closed")
        found = self._files.get(name)
        if found is None:
            found = Parquet(inside(self.root, name))
            while len(self._files) >= OPEN_FILES:
                self._files.pop(next(iter(self._files))).close()
            self._files[name] = found
        return found

    def _file_of(self, episode: int) -> Parquet:
        """The episode's file, whose rows were seen to be of the episodes listed."""
        span = self.spans[episode]
        file = self._file(span.file)
        if span.file in self._checked:
            return file
        mine = [(k, s) for k, s in enumerate(self.spans) if s.file == span.file]
        if "episode_index" in file.schema.names:
            for k, one in mine:
                if one.first + one.length > len(file):
                    raise file.error(
                        f"episode {k} should have rows up to {one.first + one.length}, "
                        f"but there are {len(file)}",
                        "",
                    )
                end = one.first + one.length
                for at in range(one.first, end, CHECKED_ROWS):
                    stop = min(at + CHECKED_ROWS, end)
                    if (file.rows("episode_index", at, stop) != one.index).any():
                        raise file.error(
                            f"rows {one.first} to {end - 1} are not all of episode "
                            f"{one.index}, as the list of episodes has it",
                            "episode_index",
                        )
        self._checked.add(span.file)
        return file

    def length_of(self, index: int) -> int:
        """T of the episode of this place, as the list of episodes has it."""
        return self.spans[index].length

    def describe(self, index: int) -> Episode:
        """The episode from the list of episodes."""
        span = self.spans[index]
        ends: dict[str, bool | None] = {}
        for feature in self.features:
            if feature.role in ("terminated", "truncated") and span.length:
                row = span.first + span.length
                last = self._file_of(index).rows(feature.name, row - 1, row)
                ends[feature.role] = bool(last.any())
        return Episode(
            index,
            f"episode_{span.index}",
            span.length,
            terminated=ends.get("terminated"),
            truncated=ends.get("truncated"),
            complete=any(ends.values()) or not ends,
            final=False,
            task=span.task,
        )

    def rows(self, episode: int, feature: Feature, start: int, stop: int) -> Array:
        """Rows of a column."""
        span, file = self.spans[episode], self._file_of(episode)
        low, high = span.first + start, span.first + stop
        if feature.name not in self._pictures:
            if feature.name not in file.schema.names:
                raise file.error("there is no such column", feature.name)
            return file.rows(feature.name, low, high, feature.shape)
        from isoscope.core.dataset.readers.pictures import decoded

        out = np.empty((high - low, *feature.shape), np.uint8)
        at = 0
        for block, a, b in file.blocks(low, high):
            file.check(block, feature.name)
            for entry in file.table(block, feature.name).slice(a, b - a):
                out[at] = decoded(entry.as_py(), feature.shape, file, feature.name)
                at += 1
        return out

    def close(self) -> None:
        """Close the files."""
        self._closed = True
        while self._files:
            self._files.popitem()[1].close()


def role_of(name: str) -> Role:
    """What a column is, by LeRobot's names."""
    fixed: dict[str, Role] = {
        "action": "action",
        "raw_action": "raw_action",
        "reward": "reward",
        "next.reward": "reward",
        "terminated": "terminated",
        "next.terminated": "terminated",
        "truncated": "truncated",
        "next.truncated": "truncated",
        "timestamp": "time",
    }
    if name in fixed:
        return fixed[name]
    return "observation" if name.split(".")[0] == "observation" else "info"


def _names(about: dict[str, Any], shape: tuple[int, ...]) -> tuple[str, ...]:
    names = about.get("names")
    if isinstance(names, dict):  # some put them under the name of the axis
        names = next(iter(names.values()), None)
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        return ()
    return tuple(names) if len(names) == int(np.prod(shape)) else ()
