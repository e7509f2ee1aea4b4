"""The statistics that a LeRobot dataset keeps of itself, as it has written them.

Version 3.0 has an episode's in the list of episodes, as columns ``stats/FEATURE/STAT``,
version 2.1 in ``meta/episodes_stats.jsonl``; those of all are in ``meta/stats.json``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.model import StoredStats
from isoscope.core.dataset.readers.arrow import ERRORS, Parquet
from isoscope.core.dataset.readers.lerobot_meta import episode_files, lines
from isoscope.core.dataset.readers.places import has, inside, read_file
from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoscope.core.recording.tracks import Array

WHOLE = "meta/stats.json"
LINES = "meta/episodes_stats.jsonl"
PREFIX = "stats/"
LOOKED_AT = ("min", "max", "mean", "std", "count")


def stats_of(
    root: Path, *, listed: bool, indices: Sequence[int], names: Sequence[str]
) -> StoredStats | None:
    """What the dataset says of these features; None if it says nothing.

    Parameters
    ----------
    listed
        Whether there is a list of episodes in Parquet.
    indices
        What the dataset calls its episodes.

    Raises
    ------
    ReadError
        If it can't be read.
    """
    whole = _whole(root)
    wanted = set(names)
    by = _of_lists(root, wanted) if listed else _of_lines(root)
    if whole is None and not by:
        return None
    kept = {key: _numbers(v) for key, v in (whole or {}).items() if key in wanted}
    return StoredStats(
        where=WHOLE if whole is not None else "",
        whole=kept,
        episodes=[by.get(index, {}) for index in indices],
    )


def _whole(root: Path) -> dict[str, Any] | None:
    if not has(root, WHOLE):
        return None
    try:
        # Python's own: lerobot writes NaN and Infinity, which JSON doesn't have.
        found = json.loads(read_file(root, WHOLE))
    except (ValueError, RecursionError) as error:
        problem = f"the JSON is broken ({error})"
        raise ReadError("reading", root / WHOLE, problem) from None
    if not isinstance(found, dict):
        raise ReadError("reading", root / WHOLE, "there are no statistics in it")
    return found


def _of_lines(root: Path) -> dict[int, dict[str, dict[str, Array]]]:
    out: dict[int, dict[str, dict[str, Array]]] = {}
    for told in lines(root, LINES) if has(root, LINES) else ():
        index, stats = told.get("episode_index"), told.get("stats")
        if type(index) is int and isinstance(stats, dict):
            out[index] = {key: _numbers(v) for key, v in stats.items()}
    return out


def _of_lists(root: Path, names: set[str]) -> dict[int, dict[str, dict[str, Array]]]:
    out: dict[int, dict[str, dict[str, Array]]] = {}
    for name in episode_files(root):
        file = Parquet(inside(root, name))
        try:
            columns = [
                (column, *column.removeprefix(PREFIX).rpartition("/")[::2])
                for column in file.schema.names
                if column.startswith(PREFIX)
            ]
            for block in range(len(file.ends) - 1):
                numbers = _column(file, block, "episode_index")
                for column, key, stat in columns:
                    if key not in names or stat not in LOOKED_AT:
                        continue
                    for index, value in zip(
                        numbers, _column(file, block, column), strict=True
                    ):
                        of = out.setdefault(int(index), {}).setdefault(key, {})
                        of.update(_numbers({stat: value}))
        except ERRORS as error:
            raise file.error(error, "") from None
        finally:
            file.close()
    return out


def _column(file: Parquet, block: int, name: str) -> list[Any]:
    file.check(block, name)
    found: list[Any] = file.table(block, name).to_pylist()
    return found


def _numbers(told: Any) -> dict[str, Array]:
    """Statistics by name, flat; what holds no numbers is passed over."""
    out: dict[str, Array] = {}
    items: Mapping[str, Any] = told if isinstance(told, dict) else {}
    for stat in LOOKED_AT:
        if items.get(stat) is None:
            continue
        try:
            out[stat] = np.asarray(items[stat], np.float64).reshape(-1)
        except (TypeError, ValueError):
            continue
    return out
