"""Write the rows of a LeRobot dataset as they come, then what is known of them all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from isoscope.core.dataset.exporters.episodic import described
from isoscope.core.dataset.exporters.lerobot_columns import (
    arrow_type,
    column_of,
    flat_rows,
    hugging,
    lists,
    pictures_of,
    stat_width,
    told_of,
)
from isoscope.core.dataset.exporters.lerobot_parquet import Part, write_tasks
from isoscope.core.dataset.exporters.lerobot_stats import STATS, Running, Together

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan
    from isoscope.core.recording.tracks import Array

FORMAT = "lerobot"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
FILE_MB, VIDEO_MB, FILES_IN_CHUNK = 100, 200, 1000
FEWEST_ROWS = 64  # of a row group: shorter episodes share one
EPISODE_ROWS = 512  # of a row group in the list of episodes
COUNTERS = ("frame_index", "episode_index", "index", "task_index")
LISTED = (
    "length",
    "data/chunk_index",
    "data/file_index",
    "dataset_from_index",
    "dataset_to_index",
)


@dataclass(slots=True)
class Writer:
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
    _out: Part | None = None
    _list: Part | None = None
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
            wide = 1 if feature is None else stat_width(feature)
            self.slices[key] = slice(self.width, self.width + wide)
            self.width += wide
        self.whole = Together(self.width)
        told = {"info": {"features": hugging(self.plan, self.kinds)}}
        self.schema = pa.schema(
            list(self.kinds.items()), metadata={"huggingface": json.dumps(told)}
        )

    def _next_file(self) -> Part:
        if self._out is not None and self._out.bytes >= FILE_MB << 20:
            self._flush()
            self._out.close()
            self._out = None
        if self._out is None:
            self.file += 1
            chunk, number = divmod(self.file, FILES_IN_CHUNK)
            path = self.place / DATA.format(chunk_index=chunk, file_index=number)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._out = Part(path, self.schema)
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
                flat.append(flat_rows(column.feature, values))
                columns[column.feature.name] = column_of(
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
        pictures = pictures_of(self.plan)
        stacked = {
            stat: np.stack([s[stat] for s in self.stats])
            for stat in STATS
            if stat != "count"
        }
        lengths = lists(counts[:, 1:2])
        for key, part in self.slices.items():
            for stat in STATS:
                if stat == "count":
                    values = lengths
                elif key in pictures:
                    values = lists(stacked[stat][:, part, None, None])
                else:
                    values = lists(stacked[stat][:, part])
                columns[f"stats/{key}/{stat}"] = values
        zero = pa.array(np.zeros(rows, np.int64))
        columns["meta/episodes/chunk_index"] = zero
        columns["meta/episodes/file_index"] = zero
        table = pa.table(columns)
        if self._list is None:
            self._list = Part(self.place / EPISODES, table.schema)
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
        features = {c.feature.name: told_of(c.feature) for c in plan.columns}
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
        pictures = pictures_of(plan)
        whole = self.whole.done()
        for key, part in self.slices.items():
            stats[key] = {stat: v[part].tolist() for stat, v in whole.items()}
            if key in pictures:
                stats[key] = {k: [[[x]] for x in v] for k, v in stats[key].items()}
            stats[key]["count"] = [self.whole.count]
        self._put("meta/stats.json", json.dumps(stats, indent=4))
        write_tasks(self.place / "meta/tasks.parquet", self.tasks)
        self._put(
            "meta/isoscope.json",
            described(plan, FORMAT),
        )

    def _put(self, path: str, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        with (self.place / path).open("xb") as file:
            file.write(data)
