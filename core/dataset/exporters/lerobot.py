"""Write LeRobot datasets, version 3.0, with pyarrow alone.

Layout as lerobot 0.4.4 writes it, which 0.6.1 reads too: rows in `data`, a row group an
episode, the episodes with their statistics in `meta/episodes`. Frames have no place for
what an episode ended in; `next_observation` keeps it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.exporters.lerobot_writer import COUNTERS, Writer
from isoscope.core.dataset.exporters.plan import (
    Column,
    Refusal,
    plain,
    stem,
)
from isoscope.core.dataset.model import Feature
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan

FORMAT = READ_AS = "lerobot"
ABOUT = "LeRobot v3.0: a folder of Parquet files; frames at a fixed rate"
EXTRA = "data"
FOLDER = True
MOST_AXES = 5
MODES = {1: "L", 3: "RGB", 4: "RGBA"}


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
            "no place for it; --next-observation keeps it"
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


def write(plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
    """Write the dataset into a folder that is made."""
    (place / "meta/episodes/chunk-000").mkdir(parents=True)
    writer = Writer(plan, place)
    try:
        for index in range(len(plan)):
            writer.episode(index, tick)
    finally:
        writer.close()
    writer.describe()
