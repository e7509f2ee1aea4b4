"""Stacked steps: what an actor trains on."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.trajectory import extract, stacking
from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import trajectory_fields
from isoscope.core.trajectory.weights_id import NO_VERSIONS, WeightsId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.trajectory.record import Tensor, Tree
    from isoscope.core.trajectory.steps import TrajectoryStep

log = logging.getLogger(__name__)


@dataclass(init=False, eq=False, repr=False)
class Trajectory:
    """T chunks of B environments. Section 1.10 of the contract.

    Takes every declared field of a trajectory by keyword, None where left out. E
    rollout epochs, C actions in a chunk, A numbers in each, D = C·A.

    Attributes
    ----------
    max_episode_length
        Low-level steps of the longest episode.
    model_weights_id
        Names the weights that acted; computed when first read.
    actions, intervene_flags
        [T, B, D].
    rewards
        [T, B, C].
    prev_logprobs, versions
        [T, B, ...].
    dones, truncations, terminations
        [T+E, B, C]: one more row before each epoch.
    prev_values
        [T+E, B, 1 or C]: one more row after each epoch.
    forward_inputs, curr_obs, next_obs
        Dicts, leaves [T, B, ...].
    env_intervene_flags, policy_intervene_flags
        bool [T, B, D]: what each side flagged; None unless both did in some chunk.
    """

    max_episode_length: int = 0
    model_weights_id: str = field(default_factory=str)
    actions: Tensor | None = None
    intervene_flags: Tensor | None = None
    rewards: Tensor | None = None
    terminations: Tensor | None = None
    truncations: Tensor | None = None
    dones: Tensor | None = None
    prev_logprobs: Tensor | None = None
    prev_values: Tensor | None = None
    versions: Tensor | None = None
    forward_inputs: Tree = field(default_factory=dict)
    curr_obs: Tree = field(default_factory=dict)
    next_obs: Tree = field(default_factory=dict)
    env_intervene_flags: Tensor | None = None
    policy_intervene_flags: Tensor | None = None

    def __init__(
        self,
        max_episode_length: int = 0,
        model_weights_id: str | WeightsId = "",
        **given: Any,
    ) -> None:
        mine = self.__dict__
        mine["max_episode_length"] = max_episode_length
        mine["_weights_id"] = model_weights_id
        for item in trajectory_fields():
            value = given.pop(item.name, None)
            mine[item.name] = {} if value is None and item.tree else value
        for name in given:
            raise TrajectoryTypeError(
                f"making a Trajectory: {name} is not declared; its fields are "
                f"{', '.join(item.name for item in trajectory_fields())}"
            )

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not there yet: the id, until it is first read.
        if name == "model_weights_id":
            self.model_weights_id = str(self._weights_id)
            return self.model_weights_id
        raise AttributeError(f"a Trajectory has no {name}; declare it as a field")

    def __getstate__(self) -> dict[str, Any]:
        known = self.model_weights_id
        return {**self.__dict__, "_weights_id": known}

    def __repr__(self) -> str:
        shapes = (
            f"{item.name}{list(value.shape)}"
            for item in trajectory_fields()
            if isinstance(value := self.__dict__.get(item.name), torch.Tensor)
        )
        return f"Trajectory({', '.join(shapes)})"

    @classmethod
    def from_steps(
        cls,
        steps: Sequence[TrajectoryStep],
        max_episode_length: int = 0,
        tell: Callable[[str], None] = log.warning,
    ) -> Trajectory:
        """Stack steps, in order, into one trajectory.

        Parameters
        ----------
        steps
            In order.
        max_episode_length
            Low-level steps of the longest episode.
        tell
            Where to say that something is left out.

        Raises
        ------
        TrajectoryValueError
            If a field is in some steps only; see `stacking.stack`.
        """
        return cls.shards_from_steps(steps, max_episode_length, [None], tell)[0]

    @classmethod
    def shards_from_steps(
        cls,
        steps: Sequence[TrajectoryStep],
        max_episode_length: int,
        spans: Sequence[stacking.Span | None],
        tell: Callable[[str], None] = log.warning,
        batch_size: int | None = None,
    ) -> list[Trajectory]:
        """Stack steps into one trajectory per range of environments.

        The same as stacking and splitting, with every number written once.

        Parameters
        ----------
        steps
            In order.
        max_episode_length
            Low-level steps of the longest episode.
        spans
            (first, end) of the environments of each; together all of them, in order.
            None stands for all.
        tell
            Where to say that something is left out.
        batch_size
            How many environments there must be; None if nobody knows.
        """
        stacked = stacking.stack(steps, spans, tell, batch_size)
        versions = [s["versions"] for s in stacked if s["versions"] is not None]
        name = WeightsId(versions) if versions else NO_VERSIONS
        return [cls(max_episode_length, name, **values) for values in stacked]

    @property
    def batch_size(self) -> int:
        """How many environments.

        Raises
        ------
        TrajectoryValueError
            If it holds no tensor that tells.
        """
        for item in trajectory_fields():
            found = _batch_size(self.__dict__.get(item.name))
            if found is not None:
                return found
        raise TrajectoryValueError(
            "asking a trajectory for its environments: it is empty, so that its batch "
            "size is unknown; give it at least one tensor"
        )

    def split(self, split_sizes: int | Sequence[int]) -> list[Trajectory]:
        """Cut it along the environments.

        Parameters
        ----------
        split_sizes
            Into how many equal parts, or the size of each.

        Raises
        ------
        TrajectoryValueError
            If it can't be divided like that.
        TrajectoryTypeError
            If it holds something that can't be cut.
        TrajectoryRuntimeError
            If a tensor in it is of another number of environments.
        """
        size = self.batch_size
        spans = equal_spans(size, split_sizes)
        name = self.__dict__.get("model_weights_id", self._weights_id)
        shards = [Trajectory(self.max_episode_length, name) for _ in spans]
        for item in trajectory_fields():
            pieces = _cut(self.__dict__.get(item.name), spans, item.name)
            for shard, piece in zip(shards, pieces, strict=True):
                shard.__dict__[item.name] = piece
        return shards

    @staticmethod
    def to_batch(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
        """Put trajectories side by side, along the environments, as a training batch.

        Parameters
        ----------
        trajectories
            None of them gives an empty dict.

        Returns
        -------
        dict
            The fields that the first trajectory has: tensors, and dicts of tensors.
            A field that only later ones have is left out, which is logged.

        Raises
        ------
        TrajectoryValueError
            If a field or key of the first is missing in another.
        TrajectoryTypeError
            If a dict holds another dict.
        TrajectoryRuntimeError
            If shapes differ beside the environments.
        """
        batch: dict[str, Any] = {}
        for item in trajectory_fields() if trajectories else ():
            values = [t.__dict__.get(item.name) for t in trajectories]
            if item.tree:
                batch[item.name] = _join_trees(values, item.name)
            elif values[0] is not None:
                batch[item.name] = _join(values, item.name)
            elif any(value is not None for value in values):
                log.warning(
                    "batching trajectories: %s is left out, because the first of them "
                    "doesn't have it",
                    item.name,
                )
        return {k: v for k, v in batch.items() if v is not None}

    def extract_intervene_traj(self, mode: str = "any") -> list[Trajectory] | None:
        """Keep the chunks in which an expert acted; `extract.interventions`."""
        return extract.interventions(self, mode)


def equal_spans(size: int, sizes: int | Sequence[int]) -> list[tuple[int, int]]:
    """The ranges of environments of each part.

    Raises
    ------
    TrajectoryValueError
        If `size` environments can't be divided like that.
    """
    if isinstance(sizes, int):
        if sizes < 1 or size % sizes:
            raise TrajectoryValueError(
                f"splitting a trajectory: {size} environments can't be divided into "
                f"{sizes} equal parts; make their number a multiple of {sizes}"
            )
        sizes = [size // sizes] * sizes
    if sum(sizes) != size or any(part < 0 for part in sizes):
        raise TrajectoryValueError(
            f"splitting a trajectory: sizes {list(sizes)} don't add up to {size} "
            f"environments; make them add up to {size}"
        )
    spans, begin = [], 0
    for part in sizes:
        spans.append((begin, begin + part))
        begin += part
    return spans


def _batch_size(value: Any) -> int | None:
    if isinstance(value, torch.Tensor) and value.ndim > 1:
        return int(value.shape[1])
    if isinstance(value, dict):
        # One level, as in RLinf: what lies deeper is carried, but doesn't count.
        for inner in value.values():
            if isinstance(inner, torch.Tensor) and inner.ndim > 1:
                return int(inner.shape[1])
    return None


def _cut(value: Any, spans: Sequence[tuple[int, int]], name: str) -> list[Any]:
    if value is None or isinstance(value, (int, str)):
        return [value] * len(spans)
    if isinstance(value, dict):
        columns = {k: _cut(v, spans, f"{name}[{k!r}]") for k, v in value.items()}
        return [{k: v[at] for k, v in columns.items()} for at in range(len(spans))]
    if isinstance(value, torch.Tensor):
        size = spans[-1][1] if spans else 0
        if value.ndim < 2 or value.shape[1] != size:
            raise TrajectoryRuntimeError(
                f"splitting a trajectory: {name} is {list(value.shape)} for {size} "
                "environments; make axis 1 as long as in the other fields"
            )
        return [value[:, begin:end].contiguous() for begin, end in spans]
    raise TrajectoryTypeError(
        f"splitting a trajectory: {name} is a {type(value).__name__}, which can't be "
        "cut along the environments; use tensors, or dicts of them"
    )


def _join(values: Sequence[Any], name: str) -> Tensor:
    lacking = [at for at, value in enumerate(values) if value is None]
    if lacking:
        raise TrajectoryValueError(
            f"batching trajectories: {name} is missing in number {lacking[0]} of "
            f"{len(values)}; its batch would be smaller than the others"
        )
    for value in values:
        if not isinstance(value, torch.Tensor):
            raise TrajectoryTypeError(
                f"batching trajectories: {name} is a {type(value).__name__}, and only "
                "tensors can be put side by side; flatten it to one level of keys"
            )
    if len(values) == 1:
        only: Tensor = values[0]
        return only
    shapes = {(*value.shape[:1], *value.shape[2:]) for value in values}
    if len(shapes) > 1 or values[0].ndim < 2:
        raise TrajectoryRuntimeError(
            f"batching trajectories: {name} is {[list(v.shape) for v in values]}; only "
            "the environments, axis 1, may differ"
        )
    return torch.cat(list(values), dim=1)


def _join_trees(trees: Sequence[Any], name: str) -> dict[Any, Any] | None:
    if not trees[0]:
        return None
    return {
        key: _join([tree.get(key) for tree in trees], f"{name}[{key!r}]")
        for key in trees[0]
    }
