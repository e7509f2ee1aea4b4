"""Write ManiSkill's trajectories: a folder with ``trajectory.h5`` and its JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from isoscope.core.dataset.exporters.episodic import (
    grouped_name,
    numbers_only,
    write_columns,
    write_description,
)
from isoscope.core.dataset.exporters.plan import Refusal, add_ends, require, stem
from isoscope.core.dataset.exporters.sinks import hdf5
from isoscope.core.errors import UsageError
from isoscope.core.jsonform import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan
    from isoscope.core.dataset.model import Feature

FORMAT = READ_AS = "maniskill"
ABOUT = "ManiSkill trajectories: a folder with an HDF5 file and its JSON"
EXTRA = ""
FOLDER = True
NAME = "trajectory"


def name(feature: Feature) -> str:
    """What a feature is called below ``/traj_<number>``."""
    rest = stem(feature)
    if feature.role == "observation":
        return f"obs/{rest}" if rest else "obs"
    if feature.role == "image":
        return f"obs/{rest or 'image'}"
    if feature.role == "state":
        return f"env_states/{rest or 'all'}"
    return grouped_name(feature)


def holds(features: Sequence[Feature]) -> list[Refusal]:
    """Features that the format can't hold, and why."""
    return [Refusal(*one) for one in numbers_only(features)]


def fit(plan: Plan, target: Path) -> None:
    """Add the flags; see that there is a last observation."""
    if ".h5" in str(target):
        raise UsageError(
            f"exporting to maniskill: its reader can't open a folder with .h5 in its "
            f"path, such as {target}; choose another name"
        )
    require(plan, {"actions": "action"}, FORMAT)
    need_final(plan, ("obs", "env_states"), FORMAT)
    add_ends(plan, {"terminated": "terminated", "truncated": "truncated"})


def need_final(plan: Plan, groups: Sequence[str], format: str) -> None:
    """Refuse where a format wants what episodes ended in, and the source lacks it.

    Raises
    ------
    UsageError
        If so.
    """
    columns = [c for c in plan.columns if c.feature.name.split("/")[0] in groups]
    for column in columns:
        if column.feature.per != "boundary":
            raise UsageError(
                f"exporting to {format}: it needs the value of {column.source} that an "
                "episode ended in, and this source has it by steps only"
            )
    lost = next((e.id for e in plan.episodes() if not e.final), None)
    if columns and lost is not None:
        raise UsageError(
            f"exporting to {format}: it needs the observation that an episode ended "
            f"in, which {plan.source.name} does not have for episode {lost}"
        )


def write(plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
    """Write the folder."""
    place.mkdir()
    listed: list[dict[str, Any]] = []
    with hdf5(place / f"{NAME}.h5") as (file, sink):
        for index in range(len(plan)):
            episode = plan.episode(index)
            group = file.create_group(f"traj_{index}")
            write_columns(plan, group, index, sink)
            entry: dict[str, Any] = {
                "episode_id": index,
                "episode_seed": episode.seed,
                "control_mode": None,
                "elapsed_steps": episode.length,
                "reset_kwargs": {"seed": episode.seed, "options": None},
            }
            if isinstance(episode.notes.get("success"), bool):
                entry["success"] = episode.notes["success"]
            listed.append(entry)
            tick(episode.length)
        write_description(plan, file, FORMAT)
    info = plan.source.identity.get("env_info")
    if not isinstance(info, dict):
        info = {"env_id": plan.options.env_name, "env_kwargs": {}}
        info["max_episode_steps"] = None
    told = {"env_info": info, "commit_info": None, "episodes": listed}
    content = json.dumps(json.loads(encode(told)), indent=2)
    with (place / f"{NAME}.json").open("xb") as out:
        out.write(content.encode())
