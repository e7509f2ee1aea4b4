"""Write robomimic's HDF5, which Isaac Lab reads too (``format_version`` 1, x y z w).

Observations before each step are in `obs`, those after it in `next_obs`; states after
each step in `states`, that before the first in `initial_state`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.exporters.episodic import (
    grouped_name,
    numbers_only,
    put_seed,
    put_text,
    write_column,
    write_columns,
    write_description,
)
from isoscope.core.dataset.exporters.plan import (
    Column,
    Refusal,
    add_ends,
    require,
    stem,
)
from isoscope.core.dataset.exporters.sinks import hdf5
from isoscope.core.dataset.model import Feature
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan

FORMAT = READ_AS = "robomimic"
ABOUT = "robomimic HDF5, readable by Isaac Lab: one file, a group a demonstration"
EXTRA = ""
FOLDER = False
FORMAT_VERSION = 1  # Isaac Lab 3.0: quaternions x y z w
GYM = 2  # robomimic's EnvType


def name(feature: Feature) -> str:
    """What a feature is called below ``/data/demo_<number>``."""
    if feature.role in ("observation", "image"):
        other = "image" if feature.role == "image" else "state"
        return f"obs/{stem(feature) or other}"
    return grouped_name(feature)


def holds(features: Sequence[Feature]) -> list[Refusal]:
    """Features that the format can't hold, and why."""
    out = [Refusal(*one) for one in numbers_only(features)]
    names = {f.name for f in features}
    for feature in features:
        top = feature.name.split("/")[0]
        # A dataset of this format has both; what came after a step may be its own.
        twin = feature.name.removeprefix("next_") in names and feature.per == "step"
        if top == "initial_state" or (top == "next_obs" and not twin):
            out.append(Refusal(feature.name, "this name is the format's own"))
    return out


def fit(plan: Plan, target: Path) -> None:
    """Add the observations after each step, and `dones`."""
    require(plan, {"actions": "action"}, FORMAT)
    have = {c.feature.name for c in plan.columns}
    for column in list(plan.columns):
        feature = column.feature
        named = feature.name.startswith("obs/") and feature.per == "boundary"
        if named and f"next_{feature.name}" not in have:
            after = Feature(
                f"next_{feature.name}", "info", feature.dtype, feature.shape
            )
            plan.columns.append(Column(after, column.source, "after", derived=True))
    roles = {f.role for f in plan.source.features}
    known = any(
        e.terminated is not None or e.truncated is not None for e in plan.episodes()
    )
    if "dones" not in have and (known or roles & {"terminated", "truncated"}):
        add_ends(plan, {"done": "dones"})
    for split in plan.splits:
        if "/" in split:
            raise UsageError(
                f"exporting to robomimic: {split!r} can't be a mask's name"
            )


def write(plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
    """Write the file."""
    with hdf5(place) as (file, sink):
        file.attrs["format_version"] = np.int64(FORMAT_VERSION)
        data = file.create_group("data")
        total = 0
        for index in range(len(plan)):
            episode = plan.episode(index)
            group = data.create_group(f"demo_{index}")
            group.attrs["num_samples"] = np.int64(episode.length)
            put_seed(group.attrs, "seed", episode)
            if "success" in episode.notes:
                group.attrs["success"] = np.bool_(episode.notes["success"])

            def put(group: Any, column: Column, at: int) -> None:
                _put(plan, group, column, at)

            write_columns(plan, group, index, sink, put)
            total += episode.length
            tick(episode.length)
        data.attrs["total"] = np.int64(total)
        told = plan.source.identity.get("env_args")
        if not isinstance(told, dict):
            told = {"env_name": plan.options.env_name, "type": GYM, "env_kwargs": {}}
        put_text(data.attrs, "env_args", json.dumps(told))
        for split, places in plan.splits.items():
            names = np.array([f"demo_{k}".encode() for k in places], "S")
            if len(names):
                file.create_dataset(f"mask/{split}", data=names)
        write_description(plan, file, FORMAT)


def _put(plan: Plan, group: Any, column: Column, at: int) -> None:
    feature = column.feature
    closed = feature.per == "boundary" and plan.episode(at).final
    if closed and feature.name.startswith("obs/"):
        write_column(plan, group, column, at, stop=-1)
    elif closed and feature.name.startswith("states/"):
        first = f"initial_state/{feature.name.removeprefix('states/')}"
        write_column(plan, group, column, at, first, stop=1)
        write_column(plan, group, column, at, start=1)
    else:
        write_column(plan, group, column, at)
