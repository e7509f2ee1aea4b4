"""What a LeRobot dataset says of its episodes: where their rows are, their tasks."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.dataset.readers.arrow import ERRORS, Parquet
from isoscope.core.dataset.readers.places import has, inside, read_file
from isoscope.core.errors import ReadError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EPISODES = "meta/episodes"
MAX_EPISODES = 1 << 24
_PART = re.compile(r"chunk-\d{1,9}/file-\d{1,9}\.parquet")


@dataclass(frozen=True, slots=True)
class Span:
    """Where an episode's rows are.

    Attributes
    ----------
    index
        What the dataset calls it.
    file
        Its data file in the dataset's folder.
    first, length
        Its first row there, and how many.
    task
        In words.
    """

    index: int
    file: str
    first: int
    length: int
    task: str


def spans_3(root: Path, info: dict[str, Any]) -> list[Span]:
    """The episodes of a dataset of version 3.0.

    Raises
    ------
    ReadError
        If its lists can't be read or contradict themselves.
    """
    from isoscope.core.dataset.readers.lerobot import filled

    columns: dict[str, list[Any]] = {}
    wanted = (
        "episode_index",
        "tasks",
        "length",
        "data/chunk_index",
        "data/file_index",
        "dataset_from_index",
        "dataset_to_index",
    )
    for name in episode_files(root):
        file = Parquet(inside(root, name))
        try:
            missing = [c for c in wanted if c not in file.schema.names]
            if missing:
                raise file.error(f"it has no column {missing[0]}", "")
            if len(file) > MAX_EPISODES:
                raise file.error(f"it lists {len(file):,} episodes", "")
            for column in wanted:
                for block in range(len(file.ends) - 1):
                    file.check(block, column)
                    values = file.table(block, column).to_pylist()
                    columns.setdefault(column, []).extend(values)
        except ERRORS as error:
            raise file.error(error, "") from None
        finally:
            file.close()
    if not columns:
        return []
    for column in set(wanted) - {"tasks"}:
        if not all(type(v) is int and 0 <= v < 1 << 60 for v in columns[column]):
            raise ReadError("reading", root / EPISODES, f"{column} has no such numbers")
    rows = list(zip(*(columns[c] for c in wanted), strict=True))
    begins: dict[tuple[int, int], int] = {}
    for _, _, _, chunk, file_index, first, _ in rows:
        key = (chunk, file_index)
        begins[key] = min(begins.get(key, first), first)
    names = {
        key: filled(info.get("data_path"), root, chunk_index=key[0], file_index=key[1])
        for key in begins
    }
    out = []
    for index, tasks, length, chunk, file_index, first, end in rows:
        if end - first != length:
            raise ReadError(
                "reading",
                root / EPISODES,
                f"episode {index} has {length} frames, but is at {first} to {end}",
            )
        task = _task(tasks)
        begin = first - begins[chunk, file_index]
        out.append(Span(index, names[chunk, file_index], begin, length, task))
    return out


def episode_files(root: Path) -> list[str]:
    """The files that list the episodes, in order; raises ReadError if there is none."""
    folder = root / EPISODES
    try:
        found = sorted(
            str(path.relative_to(folder).as_posix()) for path in folder.glob("*/*")
        )
    except OSError as error:
        raise ReadError("reading", folder, error.strerror or str(error)) from None
    files = [f"{EPISODES}/{name}" for name in found if _PART.fullmatch(name)]
    if not files:
        raise ReadError("reading", folder, "there is no list of episodes")
    return files


def _task(tasks: Any) -> str:
    if isinstance(tasks, list):
        return ", ".join(t for t in tasks if isinstance(t, str))
    return tasks if isinstance(tasks, str) else ""


def spans_2(root: Path, info: dict[str, Any]) -> list[Span]:
    """The episodes of a dataset of version 2.1: a file each.

    Raises
    ------
    ReadError
        If its list can't be read.
    """
    from isoscope.core.dataset.readers.lerobot import filled

    size = info.get("chunks_size", 1000)
    if type(size) is not int or size < 1:
        raise ReadError("reading", root / "meta/info.json", "chunks_size is no number")
    out = []
    for told in lines(root, "meta/episodes.jsonl"):
        index, length = told.get("episode_index"), told.get("length")
        if type(index) is not int or type(length) is not int or min(index, length) < 0:
            raise ReadError(
                "reading",
                root / "meta/episodes.jsonl",
                f"an entry without a number and a length: {one_line(told)[:80]}",
            )
        name = filled(
            info.get("data_path"),
            root,
            episode_chunk=index // size,
            episode_index=index,
        )
        out.append(Span(index, name, 0, length, _task(told.get("tasks"))))
    return out


def lines(root: Path, name: str) -> Iterator[dict[str, Any]]:
    """Objects of a file that has one a line; raises ReadError."""
    if not has(root, name):
        raise ReadError("reading", root / name, "no such file")
    for line in read_file(root, name).splitlines():
        if not line.strip():
            continue
        try:
            found = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ReadError(
                "reading", root / name, f"the JSON is broken or cut ({error})"
            ) from None
        if isinstance(found, dict):
            yield found


def fps_of(info: dict[str, Any]) -> float | None:
    """Frames a second, None where info.json has no such number."""
    fps = info.get("fps")
    if isinstance(fps, bool) or not isinstance(fps, int | float):
        return None
    return float(fps) if math.isfinite(fps) and fps > 0 else None


def problems(info: dict[str, Any], spans: list[Span]) -> list[str]:
    """What info.json says otherwise than the list of episodes."""
    out = []
    counted = {
        "total_episodes": len(spans),
        "total_frames": sum(span.length for span in spans),
    }
    for name, count in counted.items():
        if info.get(name) != count:
            out.append(f"info.json says {name} {info.get(name)!r}, but it is {count}")
    if fps_of(info) is None:
        out.append(f"info.json says fps {info.get('fps')!r}, which is no rate")
    return out


def splits_of(info: dict[str, Any], count: int) -> dict[str, list[int]]:
    """Episodes by split, from texts such as ``"0:80"``; odd ones are passed over."""
    told = info.get("splits")
    out: dict[str, list[int]] = {}
    for name, text in told.items() if isinstance(told, dict) else ():
        found = re.fullmatch(r"(\d{1,12}):(\d{1,12})", str(text))
        if found:
            low, high = (min(int(n), count) for n in found.groups())
            out[str(name)] = np.arange(low, high).tolist()
    return out
