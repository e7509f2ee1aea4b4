"""HDF5 with a group an episode: what robomimic, ManiSkill and Minari have in common."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.model import Episode, Feature
from isoscope.core.dataset.readers.base import Dataset, Unfit
from isoscope.core.dataset.readers.hdf5 import Tree
from isoscope.core.dataset.sidecar import parse
from isoscope.core.errors import ReadError
from isoscope.core.natural import naturally

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from isoscope.core.dataset.model import Per, Role
    from isoscope.core.recording.tracks import Array

SIDECAR = "isoscope/description"


class EpisodicFile(Dataset):
    """Episodes as groups named ``<prefix><number>`` below one group.

    Parameters
    ----------
    path
        What was opened.
    file
        The HDF5 file.
    format, below, prefix
        Key of the reader; the group that holds the episodes; what their names begin
        with.
    """

    def __init__(
        self, path: Path, file: Path, format: str, below: str, prefix: str
    ) -> None:
        self.tree = Tree(file)
        self.below = below
        try:
            name = re.compile(re.escape(prefix) + "[0-9]{1,18}")
            found = [n for n in self.tree.names(below) if name.fullmatch(n)]
            self.groups = naturally(found)
            super().__init__(path, format, (), len(self.groups))
            self.root = file
            if not self.groups:
                raise ReadError(
                    "opening",
                    path,
                    f"there is no group {prefix}0 or the like",
                    where=f"/{below}",
                )
            self._set(self._first())
            if self.tree.kind(SIDECAR) == "dataset":
                self.take(parse(self.tree.content(SIDECAR)))
        except BaseException:
            self.tree.close()
            raise

    def place(self, episode: int) -> str:
        """Where the episode's group is."""
        return f"{self.below}/{self.groups[episode]}".lstrip("/")

    def where(self, episode: int) -> str:
        """What to call an episode's place in messages."""
        return f"/{self.place(episode)}"

    def _first(self) -> list[Feature]:
        """Features as the first episode has them."""
        leaves, passed = self.tree.leaves(self.place(0))
        self.problems += passed
        length = self.length(0)
        features = []
        for name, (shape, dtype) in leaves.items():
            if not shape or shape[0] not in (length, length + 1) or dtype.kind in "SV":
                if shape and shape[0] > 1:
                    self.problems.append(
                        f"{name} is not read: {shape[0]} rows of {dtype} in an episode "
                        f"of {length} actions"
                    )
                    if dtype.kind not in "SV" and self.role(name) in ALIGNED:
                        self.unfit.append(Unfit(self.groups[0], name, shape[0], length))
                continue
            per: Per = "boundary" if shape[0] == length + 1 else "step"
            role = self.role(name)
            if role == "observation" and is_image(dtype, shape[1:]):
                role = "image"
            features.append(Feature(name, role, dtype, shape[1:], per=per))
        return features

    def rows(self, episode: int, feature: Feature, start: int, stop: int) -> Array:
        """Rows of a dataset in the episode's group."""
        place = f"{self.place(episode)}/{feature.name}"
        expected = self.rows_of(episode, feature)
        shape, _ = self.tree.shape(place)
        if not shape or shape[0] != expected:
            have = shape[0] if shape else 1
            raise self.tree.error(f"it has {have} rows instead of {expected}", place)
        return self.tree.rows(place, start, stop)

    def length(self, episode: int) -> int:
        """T, from how many actions there are, or what the group says."""
        place = self.place(episode)
        for name in ("actions", "action"):
            if self.tree.kind(f"{place}/{name}") == "dataset":
                shape, _ = self.tree.shape(f"{place}/{name}")
                return shape[0] if shape else 0
        told = self.count(place)
        if told is None:
            raise ReadError(
                "reading", self.root, "there are no actions", where=f"/{place}"
            )
        return told

    def count(self, place: str) -> int | None:
        """The number of transitions that the group itself tells; None where not."""
        for name in ("num_samples", "total_steps"):
            told = self.tree.attribute(place, name)
            if isinstance(told, int) and not isinstance(told, bool):
                return told
        return None

    def flag(self, episode: int, name: str, length: int) -> bool | None:
        """The last row of a column of flags, None where there is none."""
        place = f"{self.place(episode)}/{name}"
        if not length or self.tree.kind(place) != "dataset":
            return None
        last = self.tree.rows(place, length - 1, length)
        return bool(last.any()) if last.dtype.kind in "biuf" else None

    def length_of(self, index: int) -> int:
        """T of the episode of this place, from the data alone."""
        return self.length(index)

    def describe(self, index: int) -> Episode:
        """The episode from the group alone."""
        length = self.length(index)
        place = self.place(index)
        seed = self.tree.attribute(place, "seed")
        terminated, truncated = self.ends(index, length)
        return Episode(
            index,
            self.groups[index],
            length,
            terminated=terminated,
            truncated=truncated,
            complete=bool(terminated or truncated)
            or (terminated is None and truncated is None),
            final=any(f.per == "boundary" for f in self.features),
            seed=seed if isinstance(seed, int) and seed >= 0 else None,
        )

    def ends(self, index: int, length: int) -> tuple[bool | None, bool | None]:
        """How the episode ended: terminated, truncated."""
        return (
            self.flag(index, "terminated", length),
            self.flag(index, "truncated", length),
        )

    def close(self) -> None:
        """Close the file."""
        self.tree.close()

    @abstractmethod
    def role(self, name: str) -> Role:
        """What a dataset of this name is."""


# What has a row for each control step, or each boundary between them.
ALIGNED = (
    "observation",
    "action",
    "raw_action",
    "reward",
    "terminated",
    "truncated",
    "state",
)


def role_by_name(name: str) -> Role:
    """What a column is, by the names that the formats have for it."""
    top = name.partition("/")[0]
    fixed: dict[str, Role] = {
        "actions": "action",
        "action": "action",
        "raw_actions": "raw_action",
        "reward": "reward",
        "rewards": "reward",
        "terminated": "terminated",
        "terminations": "terminated",
        "truncated": "truncated",
        "truncations": "truncated",
    }
    if name in fixed:
        return fixed[name]
    groups: dict[str, Role] = {
        "obs": "observation",
        "observations": "observation",
        "actions": "action",
        "states": "state",
        "env_states": "state",
        "reward_terms": "reward_term",
    }
    return groups.get(top, "info")


def is_image(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    """Whether values are pictures: uint8, height by width by channels."""
    return dtype == np.uint8 and len(shape) == 3 and shape[-1] in (1, 3, 4)
