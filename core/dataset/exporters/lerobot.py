"""Write LeRobot datasets, version 3.0, with pyarrow alone.

Layout as lerobot 0.4.4 writes it, which 0.6.1 reads too: rows in `data`, a row group an
episode, the episodes with their statistics in `meta/episodes`. Frames have no place for
what an episode ended in; `next_observation` keeps it.
"""

from __future__ import annotations

import io
import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from isoscope.core.dataset.exporters.episodic import described
from isoscope.core.dataset.exporters.lerobot_stats import STATS, Running, Together
from isoscope.core.dataset.exporters.plan import (
    Column,
    Refusal,
    plain,
    stem,
)
from isoscope.core.dataset.exporters.sinks import Sink
from isoscope.core.dataset.model import Feature
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan
    from isoscope.core.recording.tracks import Array

FORMAT = READ_AS = "lerobot"
ABOUT = "LeRobot v3.0: a folder of Parquet files; frames at a fixed rate"
EXTRA = "data"
FOLDER = True
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
FILE_MB, VIDEO_MB, FILES_IN_CHUNK = 100, 200, 1000
FEWEST_ROWS = 64  # of a row group: shorter episodes share one
EPISODE_ROWS = 512  # of a row group in the list of episodes
MOST_AXES = 5
BUFFER = 1 << 18
COUNTERS = ("frame_index", "episode_index", "index", "task_index")
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
LISTED = (
    "length",
    "data/chunk_index",
    "data/file_index",
    "dataset_from_index",
    "dataset_to_index",
)


def name(feature: Feature) -> str:
    """What a feature is called there."""
    rest = stem(feature).replace("/", ".")
    fixed = {
        "reward": "next.reward",
        "terminated": "next.terminated",
        "truncated": "next.truncated",
    }
    if feature.role in fixed:
        return f"{fixed[feature.role]}.{rest}" if rest else fixed[feature.role]
    if feature.role == "observation":
        return f"observation.{rest or 'state'}"
    if feature.role == "image":
        return f"observation.images.{rest or 'camera'}"
    return f"{feature.role}.{rest}" if rest else feature.role


def holds(features: Sequence[Feature]) -> list[Refusal]:
    """Features that the format can't hold, and why."""
    out = []
    for feature in features:
        why = plain(feature)
        if feature.role == "image":
            right = feature.dtype == np.uint8 and len(feature.shape) == 3
            if not right or feature.shape[2] not in MODES:
                why = "pictures are uint8, height by width by 1, 3 or 4 channels"
        elif len(feature.shape) > MOST_AXES:
            why = f"values of {len(feature.shape)} axes; {MOST_AXES} at most"
        if "/" in feature.name:
            why = "names there have no /"
        if feature.name in COUNTERS:
            why = "this name is the format's own; map it to another"
        if feature.name == "timestamp" and feature.dtype != np.float32:
            why = "a timestamp is float32; map it to another name"
        if why:
            out.append(Refusal(feature.name, why))
    return out


def fit(plan: Plan, target: Path) -> None:
    """Frames: rows before each step; observations after it where that is wanted."""
    hz = plan.hz
    if hz is None or not math.isfinite(hz) or hz <= 0:
        raise UsageError(
            f"exporting to lerobot: {plan.source.name} does not say how many control "
            "steps a second it has; give --fps"
        )
    plan.keeps_final = False
    lost = [e.id for e in plan.source.episodes if e.final]
    after: list[Column] = []
    for k, column in enumerate(plan.columns):
        if column.feature.per != "boundary":
            continue
        plan.columns[k] = replace(column, take="before")
        if not plan.options.next_observation or not lost:
            continue
        if len(lost) != len(plan):
            raise UsageError(
                "exporting to lerobot: what an episode ended in is not known for each; "
                "leave next_observation out"
            )
        told = replace(
            column.feature,
            name=f"next.{column.feature.name}",
            role="info" if column.feature.role != "image" else "image",
            per="step",
        )
        after.append(Column(told, column.source, "after"))
    boundary = [c.source for c in plan.columns if c.take == "before"]
    if after:
        plan.columns += after
    elif lost and boundary:
        plan.left_out.append(
            f"what {len(lost)} episodes ended in ({', '.join(boundary)}): frames have "
            "no place for it; next_observation keeps it"
        )
    _add_done(plan)
    plan.order = _in_splits(plan)


def _add_done(plan: Plan) -> None:
    """Add what frames have besides features: the time, and whether this is the last."""
    names = {c.feature.name for c in plan.columns}
    roles = {c.feature.role for c in plan.columns}
    if "next.done" not in names and roles & {"terminated", "truncated"}:
        done = Feature("next.done", "info", np.dtype(np.bool_))
        plan.columns.append(Column(done, "", "done", derived=True))
    if "timestamp" not in names:
        time = Feature("timestamp", "time", np.dtype(np.float32))
        plan.columns.append(Column(time, "", "time", derived=True))


def _in_splits(plan: Plan) -> list[int]:
    """The order in which each split is one range, as info.json has it."""
    order = [at for places in plan.splits.values() for at in places]
    rest = sorted(set(plan.order) - set(order))
    begin = 0
    for key, places in list(plan.splits.items()):
        plan.splits[key] = list(range(begin, begin + len(places)))
        begin += len(places)
    return [*order, *rest]


def arrow_type(feature: Feature) -> pa.DataType:
    """The column's type: a number, a list of fixed length, or lists in lists."""
    if feature.role == "image":
        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    kind = pa.from_numpy_dtype(feature.dtype)
    shape = feature.shape
    if int(np.prod(shape, dtype=np.int64)) == 1 and len(shape) < 2:
        return kind
    if len(shape) == 1:
        return pa.list_(kind, shape[0])
    for _ in shape:
        kind = pa.list_(kind)
    return kind


def arrow_array(values: Array, kind: pa.DataType) -> pa.Array:
    """Rows [n, *shape] as a column of this type."""
    flat = np.ascontiguousarray(values).reshape(-1)
    made = pa.array(flat)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(made, type=kind)
    if not pa.types.is_list(kind):
        return made
    for axis in range(values.ndim - 1, 0, -1):
        count = math.prod(values.shape[:axis])
        offsets = np.arange(count + 1, dtype=np.int32) * values.shape[axis]
        made = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), made)
    return made


def write(plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
    """Write the dataset into a folder that is made."""
    (place / "meta/episodes/chunk-000").mkdir(parents=True)
    writer = _Writer(plan, place)
    try:
        for index in range(len(plan)):
            writer.episode(index, tick)
    finally:
        writer.close()
    writer.describe()


@dataclass(slots=True)
class _Writer:
    """Rows go out as they come, episodes' statistics a few hundred at a time."""

    plan: Plan
    place: Path
    kinds: dict[str, pa.DataType] = field(default_factory=dict)
    slices: dict[str, slice] = field(default_factory=dict)
    width: int = 0
    tasks: dict[str, int] = field(default_factory=dict)
    listed: list[tuple[int, ...]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    stats: list[dict[str, Array]] = field(default_factory=list)
    file: int = -1
    total: int = 0
    waiting: list[pa.Table] = field(default_factory=list)
    waits: int = 0
    _out: _Part | None = None
    _list: _Part | None = None
    schema: pa.Schema = None
    whole: Together = field(init=False)

    def __post_init__(self) -> None:
        for column in self.plan.columns:
            self.kinds[column.feature.name] = arrow_type(column.feature)
        for key in COUNTERS:
            self.kinds[key] = pa.int64()
        features = {c.feature.name: c.feature for c in self.plan.columns}
        for key in self.kinds:
            feature = features.get(key)
            wide = 1 if feature is None else _stat_width(feature)
            self.slices[key] = slice(self.width, self.width + wide)
            self.width += wide
        self.whole = Together(self.width)
        told = {"info": {"features": _hugging(self.plan, self.kinds)}}
        self.schema = pa.schema(
            list(self.kinds.items()), metadata={"huggingface": json.dumps(told)}
        )

    def _next_file(self) -> _Part:
        if self._out is not None and self._out.bytes >= FILE_MB << 20:
            self._flush()
            self._out.close()
            self._out = None
        if self._out is None:
            self.file += 1
            chunk, number = divmod(self.file, FILES_IN_CHUNK)
            path = self.place / DATA.format(chunk_index=chunk, file_index=number)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._out = _Part(path, self.schema)
        return self._out

    def episode(self, index: int, tick: Callable[[int], None]) -> None:
        """Write an episode's rows, and note where they are."""
        plan, episode = self.plan, self.plan.episode(index)
        out = self._next_file()
        task = episode.task or plan.options.task
        number = self.tasks.setdefault(task, len(self.tasks))
        stats = Running(episode.length, self.width)
        step = plan.window
        for start in range(0, episode.length, step):
            stop = min(start + step, episode.length)
            columns: dict[str, Any] = {}
            flat: list[Array] = []
            for column in plan.columns:
                values = plan.read(column, index, start, stop)
                flat.append(_flat(column.feature, values))
                columns[column.feature.name] = _column(
                    column.feature, values, self.kinds[column.feature.name]
                )
            for key, values in self._counted(index, number, start, stop).items():
                flat.append(values[:, None])
                columns[key] = pa.array(values)
            with np.errstate(invalid="ignore"):  # NaNs of another kind
                stats.add(np.concatenate(flat, 1, dtype=np.float64, casting="unsafe"))
            self.waiting.append(
                pa.table([columns[key] for key in self.kinds], schema=self.schema)
            )
            self.waits += stop - start
            if stop < episode.length:
                self._flush()
                # Arrow keeps what it has freed; a long episode would add that up.
                pa.default_memory_pool().release_unused()
            tick(stop - start)
        if self.waits >= FEWEST_ROWS:
            self._flush()
        self._list_episode(index, task, stats, episode.length)
        self.total += episode.length
        out.check()

    def _flush(self) -> None:
        if self.waiting and self._out is not None:
            table = pa.concat_tables(self.waiting)
            self._out.write(table, self.waits)
            self.waiting, self.waits = [], 0

    def _counted(
        self, index: int, task: int, start: int, stop: int
    ) -> dict[str, Array]:
        frame = np.arange(start, stop, dtype=np.int64)
        return {
            "frame_index": frame,
            "episode_index": np.full(stop - start, index, np.int64),
            "index": frame + self.total,
            "task_index": np.full(stop - start, task, np.int64),
        }

    def _list_episode(self, index: int, task: str, stats: Running, length: int) -> None:
        chunk, number = divmod(self.file, FILES_IN_CHUNK)
        begin = self.total
        self.listed.append((index, length, chunk, number, begin, begin + length))
        self.told.append(task)
        found = stats.done()
        self.stats.append(found)
        self.whole.add(found, length)
        if len(self.listed) >= EPISODE_ROWS:
            self._flush_list()

    def _flush_list(self) -> None:
        if not self.listed:
            return
        counts = np.array(self.listed, np.int64)
        rows = len(counts)
        columns: dict[str, pa.Array] = {"episode_index": pa.array(counts[:, 0])}
        columns["tasks"] = pa.array([[task] for task in self.told])
        for at, key in enumerate(LISTED, 1):
            columns[key] = pa.array(np.ascontiguousarray(counts[:, at]))
        pictures = _pictures(self.plan)
        stacked = {
            stat: np.stack([s[stat] for s in self.stats])
            for stat in STATS
            if stat != "count"
        }
        lengths = _lists(counts[:, 1:2])
        for key, part in self.slices.items():
            for stat in STATS:
                if stat == "count":
                    values = lengths
                elif key in pictures:
                    values = _lists(stacked[stat][:, part, None, None])
                else:
                    values = _lists(stacked[stat][:, part])
                columns[f"stats/{key}/{stat}"] = values
        zero = pa.array(np.zeros(rows, np.int64))
        columns["meta/episodes/chunk_index"] = zero
        columns["meta/episodes/file_index"] = zero
        table = pa.table(columns)
        if self._list is None:
            self._list = _Part(self.place / EPISODES, table.schema)
        self._list.write(table, rows)
        self._list.check()
        self.listed, self.told, self.stats = [], [], []

    def close(self) -> None:
        """Write the rest, and close the files."""
        try:
            self._flush()
            self._flush_list()
        finally:
            for part in (self._out, self._list):
                if part is not None:
                    part.close()

    def describe(self) -> None:
        """Write what is known when all rows are."""
        plan = self.plan
        hz = plan.hz
        assert hz is not None
        features = {c.feature.name: _told(c.feature) for c in plan.columns}
        for key in COUNTERS:
            features[key] = {"dtype": "int64", "shape": [1], "names": None}
        splits = {
            key: f"{places[0]}:{places[-1] + 1}"
            for key, places in plan.splits.items()
            if places
        }
        info = {
            "codebase_version": "v3.0",
            "fps": int(hz) if float(hz).is_integer() else hz,
            "features": features,
            "total_episodes": len(plan),
            "total_frames": self.total,
            "total_tasks": len(self.tasks),
            "chunks_size": FILES_IN_CHUNK,
            "data_files_size_in_mb": FILE_MB,
            "video_files_size_in_mb": VIDEO_MB,
            "data_path": DATA,
            "video_path": None,
            "robot_type": plan.options.robot_type or None,
            "splits": splits or {"train": f"0:{len(plan)}"},
        }
        self._put("meta/info.json", json.dumps(info, indent=4, ensure_ascii=False))
        stats: dict[str, Any] = {}
        pictures = _pictures(plan)
        whole = self.whole.done()
        for key, part in self.slices.items():
            stats[key] = {stat: v[part].tolist() for stat, v in whole.items()}
            if key in pictures:
                stats[key] = {k: [[[x]] for x in v] for k, v in stats[key].items()}
            stats[key]["count"] = [self.whole.count]
        self._put("meta/stats.json", json.dumps(stats, indent=4))
        table = pa.table(
            {
                "task_index": pa.array(list(self.tasks.values()), pa.int64()),
                "task": pa.array(list(self.tasks), pa.string()),
            }
        ).replace_schema_metadata({"pandas": json.dumps(PANDAS)})
        out = _Part(self.place / "meta/tasks.parquet", table.schema)
        out.write(table, len(table))
        out.close()
        self._put(
            "meta/isoscope.json",
            described(plan, FORMAT),
        )

    def _put(self, path: str, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        with (self.place / path).open("xb") as file:
            file.write(data)


class _Part:
    """A Parquet file that is being written."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self._sink = Sink(path)
        self._out = pa.BufferedOutputStream(pa.PythonFile(self._sink, "w"), BUFFER)
        self._writer = pq.ParquetWriter(
            self._out, schema, compression="snappy", use_dictionary=True
        )

    @property
    def bytes(self) -> int:
        """Written so far."""
        return int(self._out.tell())

    def write(self, table: pa.Table, rows: int) -> None:
        """Write a row group."""
        self._writer.write_table(table, row_group_size=rows)

    def check(self) -> None:
        """Raise OSError if writing failed."""
        self._sink.check()

    def close(self) -> None:
        """Write the footer, and close the file; raises OSError if writing failed."""
        try:
            self._writer.close()
            self._out.close()
            self._sink.check()
        finally:
            self._sink.close()


def _column(feature: Feature, values: Array, kind: pa.DataType) -> pa.Array:
    if feature.role != "image":
        return arrow_array(values, kind)
    from PIL import Image

    entries = []
    for pixels in values:
        out = io.BytesIO()
        squeezed = pixels[:, :, 0] if feature.shape[2] == 1 else pixels
        Image.fromarray(squeezed).save(out, "PNG", compress_level=1)
        entries.append({"bytes": out.getvalue(), "path": None})
    return pa.array(entries, kind)


def _pictures(plan: Plan) -> set[str]:
    return {c.feature.name for c in plan.columns if c.feature.role == "image"}


def _stat_width(feature: Feature) -> int:
    """Numbers that a statistic of a feature has: components, a picture's channels."""
    if feature.role == "image":
        return feature.shape[2]
    return int(np.prod(feature.shape, dtype=np.int64))


def _flat(feature: Feature, values: Array) -> Array:
    """Rows [n, width] that statistics are of.

    Of a picture, the channels of one pixel, as fractions: over the rows, each at
    another place, they are a sample of all pixels.
    """
    if feature.role != "image":
        return values.reshape(len(values), -1)
    pixels = values.reshape(len(values), -1, feature.shape[2])
    at = np.arange(len(values)) * 7919 % max(pixels.shape[1], 1)
    return pixels[np.arange(len(values)), at] / np.float64(255)


def _lists(values: Array) -> pa.Array:
    """Rows [n, ...] as lists, in lists."""
    kind = pa.from_numpy_dtype(values.dtype)
    for _ in values.shape[1:]:
        kind = pa.list_(kind)
    return arrow_array(values, kind)


def _told(feature: Feature) -> dict[str, Any]:
    """A feature as info.json has it."""
    if feature.role == "image":
        axes = ["height", "width", "channels"]
        return {"dtype": "image", "shape": list(feature.shape), "names": axes}
    names = list(feature.names) if len(feature.shape) < 2 else None
    shape = list(feature.shape) or [1]
    return {"dtype": feature.dtype.name, "shape": shape, "names": names or None}


def _hugging(plan: Plan, kinds: dict[str, pa.DataType]) -> dict[str, Any]:
    """The features as the library datasets has them."""
    out: dict[str, Any] = {}
    features = {c.feature.name: c.feature for c in plan.columns}
    for key, kind in kinds.items():
        feature = features.get(key)
        word = feature.dtype.name if feature is not None else str(kind)
        word = "float32" if word == "float" else word
        value = {"dtype": word, "_type": "Value"}
        if feature is not None and feature.role == "image":
            out[key] = {"_type": "Image"}
        elif pa.types.is_fixed_size_list(kind):
            out[key] = {"feature": value, "length": kind.list_size, "_type": "List"}
        elif pa.types.is_list(kind):
            assert feature is not None
            axes = len(feature.shape)
            shape = list(feature.shape)
            out[key] = {"shape": shape, "dtype": word, "_type": f"Array{axes}D"}
        else:
            out[key] = value
    return out


# Makes `task` the index of the table, which is how lerobot looks tasks up.
PANDAS = {
    "index_columns": ["task"],
    "column_indexes": [
        {
            "name": None,
            "field_name": None,
            "pandas_type": "unicode",
            "numpy_type": "object",
            "metadata": {"encoding": "UTF-8"},
        }
    ],
    "columns": [
        {
            "name": "task_index",
            "field_name": "task_index",
            "pandas_type": "int64",
            "numpy_type": "int64",
            "metadata": None,
        },
        {
            "name": "task",
            "field_name": "task",
            "pandas_type": "unicode",
            "numpy_type": "object",
            "metadata": None,
        },
    ],
    "creator": {"library": "pyarrow", "version": pa.__version__},
    "pandas_version": "2.3.0",
}
