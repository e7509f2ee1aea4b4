"""What an export will write: a column for every feature, and those a format wants.

A format has its own names, and its own idea of which rows go with what. Here that is
decided once; writing and reading back both go by it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.core.dataset.model import Episode, Feature
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from isoscope.core.dataset.model import Episodes, Role
    from isoscope.core.recording.tracks import Array

# How a column's rows come from its source's: as they are, those before each step, those
# after it, or made: from how the episode ended, or the time since it began.
Take = Literal["rows", "before", "after", "done", "terminated", "truncated", "time"]
WINDOW_BYTES = 1 << 22
BY_ROLE = "\0"  # a target: whatever the format calls it
WIDEST = 8
_PREFIXES: dict[str, tuple[str, ...]] = {
    "observation": ("observations", "observation", "obs", "curr_obs", "policy"),
    "image": ("images", "image", "observations", "observation", "obs", "curr_obs"),
    "action": ("actions", "action"),
    "raw_action": ("infos", "forward_inputs", "raw_actions", "raw_action"),
    "reward": ("next", "rewards", "reward"),
    "reward_term": ("infos", "extra", "reward_terms", "reward_term"),
    "terminated": ("next", "terminations", "terminated"),
    "truncated": ("next", "truncations", "truncated"),
    "state": ("infos", "extra", "env_states", "states", "state"),
    "info": ("extra", "infos", "info"),
    "time": ("infos", "extra", "times", "time"),
}


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Where a feature of the source goes; what isn't mapped goes by its role.

    Attributes
    ----------
    source
        Its name there.
    target
        Its name in the format; empty to leave it out, `BY_ROLE` to let the format say.
    units
        Units where the source has none: one for all components, or one each.
    dtype
        What to convert to, such as ``"float32"``; None keeps every bit.
    """

    source: str
    target: str
    units: tuple[str | None, ...] = ()
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What a format needs and a source may not say.

    Attributes
    ----------
    fps
        Control steps a second, where the source doesn't know.
    next_observation
        LeRobot: also write the observation after each step, so that what an episode
        ended in is kept.
    task
        LeRobot: what the robot was told, where episodes don't say.
    robot_type, env_name
        As the formats ask for them.
    """

    fps: float | None = None
    next_observation: bool = False
    task: str = ""
    robot_type: str = ""
    env_name: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A feature that a format can't hold, and why."""

    feature: str
    why: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is written.

    Attributes
    ----------
    feature
        As it will be read back: name, dtype and units of the format.
    source
        The feature it comes from; empty where it is made.
    take
        Which rows of it.
    derived
        Whether the format alone wants it: it is no feature of its own.
    """

    feature: Feature
    source: str
    take: Take = "rows"
    derived: bool = False


@dataclass(slots=True)
class Plan:
    """What will be written, in order.

    Attributes
    ----------
    order
        The source's episodes in the order of the dataset.
    splits
        Places in that order by split.
    keeps_final
        Whether the format holds what an episode ended in.
    left_out
        One line for everything of the source that is not in the dataset.
    """

    source: Episodes
    columns: list[Column]
    order: list[int]
    splits: dict[str, list[int]]
    options: ExportOptions
    keeps_final: bool = True
    left_out: list[str] = field(default_factory=list)
    _last: Episode | None = None
    _windowed: tuple[list[Column], int] = field(default=([], 0), repr=False)

    @property
    def hz(self) -> float | None:
        """Control steps a second."""
        known = self.source.control_hz
        return self.options.fps if known is None else known

    @property
    def window(self) -> int:
        """Rows that are in memory at once."""
        of, rows = self._windowed
        if not rows or of != self.columns:
            rows = window_rows([c.feature for c in self.columns])
            self._windowed = list(self.columns), rows
        return rows

    @property
    def features(self) -> list[Feature]:
        """The features of the dataset."""
        return [c.feature for c in self.columns if not c.derived]

    @property
    def derived(self) -> list[str]:
        """Columns that are no features."""
        return [c.feature.name for c in self.columns if c.derived]

    def __len__(self) -> int:
        """Episodes."""
        return len(self.order)

    def episode(self, place: int) -> Episode:
        """The episode of this place, as the dataset has it."""
        found = self.source.episodes[self.order[place]]
        final = found.final and self.keeps_final
        last = self._last
        if last is not None and last.index == place and last.id == found.id:
            return last
        self._last = replace(found, index=place, final=final)
        return self._last

    def episodes(self) -> Iterator[Episode]:
        """All of them."""
        return (self.episode(place) for place in range(len(self)))

    def rows(self, column: Column, place: int) -> int:
        """How many rows a column has in an episode."""
        episode = self.episode(place)
        if column.take == "after":
            known = self.source.episodes[self.order[place]].final
            return episode.length if known else 0
        boundary = column.feature.per == "boundary" and episode.final
        return episode.length + (boundary and column.take == "rows")

    def read(
        self, column: Column, place: int, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of a column of an episode, [rows, *shape]."""
        at = self.order[place]
        start, stop, _ = slice(start, stop).indices(self.rows(column, place))
        if column.take == "time":
            assert self.hz is not None
            frame = np.arange(start, stop, dtype=np.int64)
            return (frame / self.hz).astype(column.feature.dtype)
        if not column.source:
            return self._ends(column.take, at, start, stop)
        shift = column.take == "after"
        values = self.source.read(at, column.source, start + shift, stop + shift)
        if values.dtype != column.feature.dtype:
            values = values.astype(column.feature.dtype)
        return values.reshape(len(values), *column.feature.shape)

    def windows(self, column: Column, place: int) -> Iterator[tuple[int, Array]]:
        """A column of an episode in pieces of bounded size: first row, values."""
        rows = self.rows(column, place)
        step = self.window
        for start in range(0, rows, step):
            yield start, self.read(column, place, start, min(start + step, rows))

    def _ends(self, take: Take, at: int, start: int, stop: int) -> Array:
        wanted = ("terminated", "truncated") if take == "done" else (take,)
        out = np.zeros(stop - start, np.bool_)
        named = {f.role: f.name for f in self.source.features}
        episode = self.source.episodes[at]
        for role in wanted:
            if role in named:
                values = self.source.read(at, named[role], start, stop)
                out |= values.reshape(len(out), -1).any(axis=1)
            elif getattr(episode, role) and start < episode.length == stop:
                out[-1] = True
        return out


def window_rows(features: Sequence[Feature]) -> int:
    """Rows that fit a window of bounded size.

    A number counts as 8 bytes at least: whoever makes it may have been through those.
    """
    size = sum(
        int(np.prod(f.shape, dtype=np.int64)) * max(f.dtype.itemsize, WIDEST)
        for f in features
        if f.role != "image"
    ) + sum(int(np.prod(f.shape)) for f in features if f.role == "image")
    return max(WINDOW_BYTES // max(size, 1), 1)


def stem(feature: Feature) -> str:
    """What a feature is called beside its role: empty where it is just its role."""
    parts = re.split(r"[/.]", feature.name)
    heads = _PREFIXES[feature.role]
    while parts and parts[0] in heads:
        parts.pop(0)
    return "/".join(part for part in parts if part)


def columns_of(
    episodes: Episodes,
    format: str,
    name: Callable[[Feature], str],
    mapping: Sequence[FieldMap],
    left_out: list[str],
) -> list[Column]:
    """A column for each feature, named by the mapping, else by the format's rule.

    A dataset of the same format keeps its names.

    Raises
    ------
    UsageError
        If the mapping names what isn't there, or two features would get one name.
    """
    known = {f.name: f for f in episodes.features}
    chosen: dict[str, FieldMap] = {}
    for one in mapping:
        if one.source not in known:
            raise UsageError(
                f"mapping fields: {episodes.name} has no feature {one.source!r}; it "
                f"has {', '.join(known)}"
            )
        if one.source in chosen:
            raise UsageError(f"mapping fields: {one.source} is mapped twice")
        chosen[one.source] = one
    out: list[Column] = []
    taken: dict[str, str] = {}
    for feature in episodes.features:
        one = chosen.get(feature.name, FieldMap(feature.name, BY_ROLE))
        if not one.target:
            left_out.append(f"{feature.name}: as it was asked for")
            continue
        target = one.target
        if target == BY_ROLE:
            same = episodes.format == format
            target = feature.name if same else name(feature)
        _check_name(target, feature.name)
        if target in taken:
            raise UsageError(
                f"mapping fields: {taken[target]} and {feature.name} would both be "
                f"{target}; map one of them to another name"
            )
        taken[target] = feature.name
        out.append(Column(_written(feature, one, target), feature.name))
    for target in taken:
        parts = target.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            if above in taken:
                raise UsageError(
                    f"mapping fields: {taken[above]} would be {above}, and "
                    f"{taken[target]} below it, {target}; map one to another name"
                )
    return out


def _written(feature: Feature, one: FieldMap, target: str) -> Feature:
    size = int(np.prod(feature.shape, dtype=np.int64))
    units = feature.units
    if one.units:
        if len(one.units) not in (1, size):
            raise UsageError(
                f"mapping fields: {feature.name} has {size} components, but "
                f"{len(one.units)} units are given"
            )
        units = one.units if len(one.units) == size else one.units * size
    try:
        dtype = np.dtype(one.dtype) if one.dtype else np.dtype(feature.dtype)
    except TypeError:
        raise UsageError(
            f"mapping fields: {one.dtype!r} is no dtype such as float32"
        ) from None
    return replace(feature, name=target, units=units, dtype=dtype.newbyteorder("="))


def _check_name(target: str, source: str) -> None:
    parts = target.split("/")
    if any(p in ("", ".", "..") for p in parts) or not target.isprintable():
        raise UsageError(f"mapping fields: {source} can't be called {target!r}")


def plain(feature: Feature, sizes: tuple[int, ...] = (1, 2, 4, 8)) -> str:
    """Why a feature is no column of plain numbers; empty where it is."""
    dtype = np.dtype(feature.dtype)
    if dtype.kind not in "biuf" or dtype.itemsize not in sizes:
        return f"values of dtype {dtype}"
    if 0 in feature.shape:
        return f"values of shape {feature.shape} hold nothing"
    return ""


def require(plan: Plan, needed: Mapping[str, Role], format: str) -> dict[str, Column]:
    """The columns of these names, which the format can't do without.

    Raises
    ------
    UsageError
        If one is missing; the message says what could be mapped to it.
    """
    found = {c.feature.name: c for c in plan.columns}
    for name, role in needed.items():
        if name not in found:
            have = [c.source for c in plan.columns if c.feature.role == role]
            hint = (
                f"map one of {', '.join(have)} to it"
                if have
                else f"{plan.source.name} has no {role.replace('_', ' ')}"
            )
            raise UsageError(f"{format} needs a column {name}: {hint}")
    return found


def add_ends(
    plan: Plan, names: Mapping[Literal["terminated", "truncated", "done"], str]
) -> None:
    """Add the columns that say how episodes ended, where they are missing.

    Raises
    ------
    UsageError
        If the source doesn't say how an episode ended.
    """
    have = {c.feature.name for c in plan.columns}
    roles = {f.role for f in plan.source.features}
    for take, name in names.items():
        if name in have:
            continue
        needed = ("terminated", "truncated") if take == "done" else (take,)
        for role in needed if take != "done" else ():
            unknown = next(
                (e.id for e in plan.episodes() if getattr(e, role) is None), None
            )
            if role not in roles and unknown is not None:
                raise UsageError(
                    f"{plan.source.name} does not say whether episode {unknown} was "
                    f"{role}, which {name} has to say"
                )
        role_of_it: Role = "info" if take == "done" else take
        feature = Feature(name, role_of_it, np.dtype(np.bool_))
        plan.columns.append(Column(feature, "", take, derived=True))
