"""Write trajectory shards: a safetensors file an episode, and a manifest of hashes.

The rows are aligned as in a trajectory of one environment and one rollout epoch: T rows
of what goes with steps, observations before and after them in `curr_obs` and
`next_obs`, and T + 1 of the flags, whose first is before the first step.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.exporters.episodic import described
from isoscope.core.dataset.exporters.plan import (
    Column,
    Refusal,
    add_ends,
    plain,
    require,
    stem,
)
from isoscope.core.dataset.model import Feature
from isoscope.core.dataset.readers.shards import DTYPES, FIRST, MANIFEST, SIDECAR
from isoscope.core.jsonform import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan

FORMAT = READ_AS = "shards"
ABOUT = "trajectory shards: a folder of safetensors files, one an episode"
EXTRA = ""
FOLDER = True
ALIGN = 8
_CODES = {np.dtype(kind): code for code, kind in DTYPES.items()}


def name(feature: Feature) -> str:
    """The tensor that a feature becomes."""
    rest = stem(feature).replace("/", ".")
    fixed = {
        "action": "actions",
        "raw_action": "forward_inputs.raw_action",
        "reward": "rewards",
        "terminated": "terminations",
        "truncated": "truncations",
    }
    if feature.role in fixed:
        return f"{fixed[feature.role]}.{rest}" if rest else fixed[feature.role]
    if feature.role == "observation":
        return f"curr_obs.{rest or 'states'}"
    if feature.role == "image":
        return f"curr_obs.{rest or 'main_images'}"
    return f"extra.{feature.role}.{rest or 'value'}"


def holds(features: Sequence[Feature]) -> list[Refusal]:
    """Features that the format can't hold, and why."""
    out = []
    for feature in features:
        why = plain(feature)
        if feature.name.split(".")[0] == "next_obs":
            why = "this name is the format's own"
        if feature.name.split(".")[0] in FIRST and feature.per != "step":
            why = "flags go with steps"
        if why:
            out.append(Refusal(feature.name, why))
    return out


def fit(plan: Plan, target: Path) -> None:
    """Add observations after each step, and `dones`."""
    require(plan, {"actions": "action"}, FORMAT)
    for column in list(plan.columns):
        feature = column.feature
        if feature.name.startswith("curr_obs.") and feature.per == "boundary":
            after = f"next_obs.{feature.name.removeprefix('curr_obs.')}"
            told = Feature(after, "info", feature.dtype, feature.shape)
            plan.columns.append(Column(told, column.source, "after", derived=True))
    if "dones" not in {c.feature.name for c in plan.columns}:
        add_ends(plan, {"done": "dones"})


def write(plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
    """Write the folder."""
    place.mkdir()
    listed: list[dict[str, Any]] = []
    for index in range(len(plan)):
        listed.append(_shard(plan, place, index))
        tick(plan.episode(index).length)
    content = described(plan, FORMAT)
    with (place / SIDECAR).open("xb") as out:
        out.write(content)
    manifest = {
        "run": {
            "exported": True,
            "control_hz": plan.hz,
            "splits": {
                key: [listed[k]["file"] for k in places]
                for key, places in plan.splits.items()
            },
            "description": {
                "file": SIDECAR,
                "sha256": hashlib.sha256(content).hexdigest(),
            },
        },
        "shards": listed,
        "schema": "isoscope.shards/1",
    }
    with (place / MANIFEST).open("xb") as out:
        out.write(encode(manifest, indent=2) + b"\n")


def _shard(plan: Plan, place: Path, index: int) -> dict[str, Any]:
    """Write an episode; returns what the manifest says of it."""
    episode = plan.episode(index)
    entries: dict[str, Any] = {
        "__metadata__": {
            "episode": episode.id,
            "max_episode_length": str(episode.length),
        }
    }
    at = 0
    tensors: dict[str, Any] = {}
    # Wide values first: every tensor then begins where its dtype wants it.
    columns = sorted(
        plan.columns, key=lambda c: (-c.feature.dtype.itemsize, c.feature.name)
    )
    columns = [c for c in columns if plan.rows(c, index)]
    for column in columns:
        feature = column.feature
        rows = _rows(plan, column, index) + _extra(column)
        shape = [rows, 1, *(feature.shape or (1,))]
        size = int(np.prod(shape, dtype=np.int64)) * feature.dtype.itemsize
        code = _CODES[feature.dtype]
        entries[feature.name] = {
            "dtype": code,
            "shape": shape,
            "data_offsets": [at, at + size],
        }
        tensors[feature.name] = (feature.dtype.name, shape)
        at += size
    header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % ALIGN)
    digest, total = hashlib.sha256(), 0
    file = f"shard-0-{index:06d}.safetensors"
    with (place / file).open("xb") as out:
        for part in _parts(plan, columns, index, header):
            digest.update(part)
            total += out.write(part)
    return {
        "file": file,
        "key": f"episode {episode.id}",
        "actor": 0,
        "bytes": total,
        "sha256": digest.hexdigest(),
        "tensors": tensors,
    }


def _parts(
    plan: Plan, columns: Sequence[Column], index: int, header: bytes
) -> Iterator[bytes | memoryview]:
    yield len(header).to_bytes(8, "little")
    yield header
    for column in columns:
        feature = column.feature
        if _extra(column):
            yield bytes(
                int(np.prod(feature.shape, dtype=np.int64)) * feature.dtype.itemsize
            )
        rows = _rows(plan, column, index)
        for start, values in plan.windows(column, index):
            kept = values[: rows - start]
            flat = np.ascontiguousarray(kept, kept.dtype.newbyteorder("<"))
            yield flat.reshape(-1).view(np.uint8).data


def _rows(plan: Plan, column: Column, index: int) -> int:
    """Rows of a tensor; what an episode ended in is the last row of `next_obs`."""
    rows = plan.rows(column, index)
    if column.feature.name.startswith("curr_obs."):
        return min(rows, plan.episode(index).length)
    return rows


def _extra(column: Column) -> int:
    """1 where there is a row before the first step: nothing is done there."""
    return int(column.feature.name in FIRST)
