"""The reader of robomimic's and Isaac Lab's HDF5: ``/data/demo_<number>``.

robomimic keeps what an episode ended in among its `next_obs`, Isaac Lab the state that
it began in as `initial_state`, with `states` after each step. Both come back here as
boundary rows. Isaac Lab's own observations lack the last one: they go with steps.

Source: robomimic's documentation (datasets, overview and structure); Isaac Lab 3.0's
HDF5DatasetFileHandler, whose ``format_version`` 1 means quaternions x y z w.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.readers.episodic import EpisodicFile, role_by_name
from isoscope.core.dataset.readers.places import json_object
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Episode, Feature, Role
    from isoscope.core.recording.tracks import Array

FORMAT = "robomimic"
# What a boundary column's other row is in: (last row of) or (first row of).
NEXT = ("obs/", "next_obs/")
INITIAL = ("states/", "initial_state/")


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is HDF5 with demonstrations in it."""
    from isoscope.core.dataset.readers.hdf5 import MAGIC, Tree

    if not head.startswith(MAGIC):
        return False
    try:
        tree = Tree(path)
    except ReadError:
        return False
    try:
        found = tree.kind("data") == "group"
        return found and (
            tree.attribute("data", "total") is not None
            or any(n.startswith("demo_") for n in tree.names("data")[:8])
        )
    except ReadError:
        return False
    finally:
        tree.close()


def open_episodes(path: Path) -> RobomimicFile:
    """Open a file; raises ReadError."""
    return RobomimicFile(path)


def open_source(path: Path) -> DatasetSource:
    """Open a file for the window; raises ReadError."""
    return DatasetSource(open_episodes(path))


class RobomimicFile(EpisodicFile):
    """An opened file; see `isoscope.core.dataset.readers.base.Dataset`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, path, FORMAT, "data", "demo_")
        try:
            self._take_facts()
        except BaseException:
            self.close()
            raise

    def _take_facts(self) -> None:
        version = self.tree.attribute("", "format_version")
        facts: dict[str, Any] = {}
        if isinstance(version, int):
            facts["format_version"] = version
        told = self.tree.attribute("data", "env_args")
        if isinstance(told, str):
            facts["env_args"] = json_object(told, self.root, "/data (env_args)")
            options = facts["env_args"].get("env_kwargs")
            hz = options.get("control_freq") if isinstance(options, dict) else None
            if self.control_hz is None and isinstance(hz, int | float) and hz > 0:
                self.control_hz = float(hz)
        total = self.tree.attribute("data", "total")
        if isinstance(total, int):
            facts["total"] = total
        self.identity = {**self.identity, **facts}
        poses = any(f.name.endswith("root_pose") for f in self.features)
        if poses and version != 1:
            self.problems.append(
                "format_version is not 1: quaternions of root_pose are w x y z, as "
                "Isaac Lab wrote them before 3.0; they are shown as they are"
            )
        if self.tree.kind("mask") == "group" and not self.splits:
            at = {name: k for k, name in enumerate(self.groups)}
            told = {
                key: self.tree.texts(f"mask/{key}") for key in self.tree.names("mask")
            }
            self.splits = {k: [at[n] for n in v if n in at] for k, v in told.items()}
            for key, names in told.items():
                gone = sum(n not in at for n in names)
                if gone:
                    self.problems.append(
                        f"mask/{key} lists {gone} episodes that are not there"
                    )

    def _first(self) -> list[Feature]:
        found = {f.name: f for f in super()._first()}
        place, length = self.place(0), self.length(0)
        leaves, _ = self.tree.leaves(place)
        observed = [n for n in found if n.startswith("obs/") or n == "obs"]
        closed = bool(observed) and all(_other(n, NEXT) in found for n in observed)
        for name in observed if closed else ():
            if found[name].per == "step":
                found[name] = replace(found[name], per="boundary")
        for name, feature in list(found.items()):
            if not name.startswith("states/"):
                continue
            first = leaves.get(_other(name, INITIAL))
            if first == ((1, *feature.shape), feature.dtype) and (
                closed or not any(found[n].per == "boundary" for n in observed)
            ):
                found[name] = replace(feature, per="boundary")
        if length == 1:  # initial states look like rows of an episode of one step
            for name in [n for n in found if n.startswith("initial_state/")]:
                del found[name]
        return list(found.values())

    def rows(self, episode: int, feature: Feature, start: int, stop: int) -> Array:
        """Rows of a column; those at a boundary come from two datasets."""
        whole = self.episodes[episode]
        name = feature.name
        if feature.per == "step" or not whole.final:
            return super().rows(episode, feature, start, stop)
        place, length = self.place(episode), whole.length
        shape, _ = self.tree.shape(f"{place}/{name}")
        if shape and shape[0] == length + 1:  # the final one is in the same dataset
            return super().rows(episode, feature, start, stop)
        if _under(name, NEXT):
            parts = [(name, start, min(stop, length))]
            if stop > length:
                parts.append((_other(name, NEXT), max(start, length) - 1, stop - 1))
        elif _under(name, INITIAL):
            parts = [(_other(name, INITIAL), 0, 1)] if start == 0 else []
            parts.append((name, max(start, 1) - 1, stop - 1))
        else:
            return super().rows(episode, feature, start, stop)
        found = []
        for inner, low, high in parts:
            if high > low:
                found.append(self.tree.rows(f"{place}/{inner}", low, high))
        try:
            return np.concatenate(found)
        except ValueError:
            raise self.error("its parts differ in shape", f"/{place}/{name}") from None

    def describe(self, index: int) -> Episode:
        """The episode from its group; a `success` of Isaac Lab's goes into notes."""
        found = super().describe(index)
        success = self.tree.attribute(self.place(index), "success")
        notes = {"success": bool(success)} if success is not None else {}
        done = self.flag(index, "dones", found.length)
        complete = found.complete
        if found.terminated is None and found.truncated is None and done is not None:
            complete = done or notes.get("success", True) is not False
        return replace(found, notes=notes, complete=bool(complete))

    def role(self, name: str) -> Role:
        """What a dataset of this name is."""
        return role_by_name(name)


def _under(name: str, pair: tuple[str, str]) -> bool:
    return name.startswith(pair[0]) or name == pair[0].rstrip("/")


def _other(name: str, pair: tuple[str, str]) -> str:
    """The dataset that holds the other boundary row of this one."""
    if name == pair[0].rstrip("/"):
        return pair[1].rstrip("/")
    return pair[1] + name.removeprefix(pair[0])
