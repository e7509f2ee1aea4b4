"""Write Minari datasets, in HDF5: the spaces as minari itself writes them.

minari's own writer takes all episodes in memory at once, and a full disk ends its
process within HDF5; so the values are written here, in its layout (minari 0.5.4).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.exporters.episodic import (
    described,
    numbers_only,
    put_seed,
    write_columns,
)
from isoscope.core.dataset.exporters.maniskill import need_final
from isoscope.core.dataset.exporters.plan import Refusal, add_ends, require, stem
from isoscope.core.dataset.exporters.sinks import hdf5
from isoscope.core.dataset.readers.minari import MAIN, METADATA, SIDECAR
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan
    from isoscope.core.dataset.model import Feature

FORMAT = READ_AS = "minari"
ABOUT = "Minari: a folder named like name-v0, with HDF5 in it"
EXTRA = "minari"
FOLDER = True
KEPT = ("dataset_id", "algorithm_name", "author", "code_permalink", "description")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*-v[0-9]+")
_SPACES = {"observations": "observation", "actions": "action"}


def name(feature: Feature) -> str:
    """What a feature is called below ``/episode_<number>``."""
    rest = stem(feature)
    fixed = {
        "reward": "rewards",
        "terminated": "terminations",
        "truncated": "truncations",
        "raw_action": "infos/raw_action",
    }
    heads = {"observation": "observations", "action": "actions"}
    if feature.role in heads:
        head = heads[feature.role]
        return f"{head}/{rest}" if rest else head
    if feature.role == "image":
        return f"observations/{rest or 'image'}"
    if feature.role in fixed:
        return f"{fixed[feature.role]}_{rest}" if rest else fixed[feature.role]
    other = {"state": "states/", "reward_term": "reward_terms/", "time": "times/"}
    return f"infos/{other.get(feature.role, '')}{rest or 'value'}"


def holds(features: Sequence[Feature]) -> list[Refusal]:
    """Features that the format can't hold, and why."""
    out = [Refusal(*one) for one in numbers_only(features)]
    for feature in features:
        top = feature.name.split("/")[0]
        if top in _SPACES and feature.dtype == np.bool_:
            out.append(Refusal(feature.name, "spaces there have no bool"))
        elif top in ("rewards", "terminations", "truncations") and feature.shape:
            out.append(Refusal(feature.name, "it is one number a step there"))
        elif top not in (*_SPACES, "rewards", "terminations", "truncations", "infos"):
            out.append(Refusal(feature.name, "there is no such group there"))
    return out


def fit(plan: Plan, target: Path) -> None:
    """Add the flags; see that there is a last observation, and that the name is right.

    Raises
    ------
    UsageError
        If minari could not load it.
    """
    if not _NAME.fullmatch(target.name):
        raise UsageError(
            f"exporting to minari: a dataset's folder is named like cartpole-v0, not "
            f"{target.name}"
        )
    import minari  # noqa: F401 said now, not later

    require(plan, {"rewards": "reward"}, FORMAT)
    for top, role in _SPACES.items():
        if not any(c.feature.name.split("/")[0] == top for c in plan.columns):
            require(plan, {top: "observation" if role[0] == "o" else "action"}, FORMAT)
    need_final(plan, ("observations",), FORMAT)
    for column in plan.columns:
        if column.feature.name.startswith("actions") and column.feature.per != "step":
            raise UsageError("exporting to minari: actions go with steps there")
    add_ends(plan, {"terminated": "terminations", "truncated": "truncations"})


def write(plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
    """Write the dataset's folder."""
    data = place / "data"
    data.mkdir(parents=True)
    total = 0
    with hdf5(data / MAIN) as (file, sink):
        for index in range(len(plan)):
            episode = plan.episode(index)
            group = file.create_group(f"episode_{index}")
            group.attrs["id"] = np.int64(index)
            group.attrs["total_steps"] = np.int64(episode.length)
            put_seed(group.attrs, "seed", episode)
            write_columns(plan, group, index, sink)
            if "infos" not in group:
                group.create_group("infos")
            total += episode.length
            tick(episode.length)
    # Not in the same file: minari takes every group there for an episode.
    _put(data / SIDECAR, described(plan, FORMAT))
    size = round((data / MAIN).stat().st_size / 1e6, 1)
    told = {**_metadata(plan), "total_episodes": len(plan), "total_steps": total}
    _put(data / METADATA, json.dumps({**told, "dataset_size": size}).encode())


def _put(path: Path, content: bytes) -> None:
    with path.open("xb") as out:
        out.write(content)


def _metadata(plan: Plan) -> dict[str, Any]:
    import minari
    from minari.serialization import (
        serialize_space,
    )

    known = plan.source.identity
    told = {key: known[key] for key in KEPT if isinstance(known.get(key), str | list)}
    if isinstance(known.get("env_spec"), dict):
        told["env_spec"] = json.dumps(known["env_spec"])
    return {
        "dataset_id": "dataset-v0",
        **told,
        "data_format": "hdf5",
        "jpeg_encoding": False,
        "observation_space": serialize_space(_space(plan, "observations")),
        "action_space": serialize_space(_space(plan, "actions")),
        "minari_version": minari.__version__,
    }


def _columns(plan: Plan, top: str) -> dict[str, Any]:
    """Columns of a space, nested by their names."""
    found: dict[str, Any] = {}
    for column in plan.columns:
        head, *rest = column.feature.name.split("/")
        if head != top:
            continue
        if not rest:
            return {"": column}
        inner = found
        for key in rest[:-1]:
            inner = inner.setdefault(key, {})
        inner[rest[-1]] = column
    return found


def _space(plan: Plan, top: str) -> Any:
    from gymnasium import spaces

    def walk(entry: Any) -> Any:
        if isinstance(entry, dict):
            return spaces.Dict({key: walk(value) for key, value in entry.items()})
        feature = entry.feature
        whole = feature.dtype.kind in "iu"
        limits = np.iinfo(feature.dtype) if whole else None
        low, high = (limits.min, limits.max) if limits else (-np.inf, np.inf)
        lows = np.full(feature.shape, low, feature.dtype)
        highs = np.full(feature.shape, high, feature.dtype)
        if feature.low is not None:
            lows = np.array(feature.low, feature.dtype).reshape(feature.shape)
        if feature.high is not None:
            highs = np.array(feature.high, feature.dtype).reshape(feature.shape)
        return spaces.Box(lows, highs, feature.shape, feature.dtype)

    found = _columns(plan, top)
    return walk(found[""]) if "" in found else walk(found)
