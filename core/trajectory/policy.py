"""The policy's half of a chunk: what it computed from, did and thought of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.fields import Owner
from isoscope.core.trajectory.keys import TrajectorySource
from isoscope.core.trajectory.record import Record, Tensor, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(init=False, eq=False, repr=False)
class PolicyOutput(Record):
    """An inference's result, kept for training. Section 1.6 of the contract.

    Keyword-only. B environments, C actions in a chunk, A numbers in each, D = C·A.

    Attributes
    ----------
    forward_inputs
        What the policy computed from, leaves [B, ...]; key ``action`` is normally the
        executed action [B, D], ``model_action`` optionally the model's own.
    prev_logprobs
        [B, D] or [B, C, A].
    prev_values
        [B, 1] by chunk or [B, C] by action.
    intervene_flags
        bool [B, C] or [B]: the policy side's mask of expert or saved actions.
    versions
        Of the actor's weights, in the shape of prev_logprobs.
    """

    owner: ClassVar[Owner] = Owner.POLICY_OUTPUT

    forward_inputs: Tree
    prev_logprobs: Tensor | None = None
    prev_values: Tensor | None = None
    intervene_flags: Tensor | None = None
    versions: Tensor | None = None

    def split(self, split_sizes: Sequence[int]) -> list[PolicyOutput]:
        """Cut it along the batch."""
        return [PolicyOutput(**shard) for shard in self._split_fields(split_sizes)]

    @classmethod
    def merge(cls, outputs: Sequence[PolicyOutput]) -> PolicyOutput:
        """Put shards together.

        Raises
        ------
        TrajectoryValueError
            If there are none, or a value is in some of them only.
        """
        if not outputs:
            raise TrajectoryValueError("merging PolicyOutputs: there are none")
        return cls(**cls._merge_fields(outputs))


@dataclass(init=False, eq=False, repr=False)
class PolicyPart(Record):
    """The policy's half of some chunks' rows, on its way to the collector.

    Section 1.7 of the contract. Keyword-only; exactly one of `output` and
    `external_actions` is given.

    Attributes
    ----------
    sources
        Whose rows these are, in order.
    obs
        The observation before the chunk, leaves [B, ...].
    output
        What the policy inferred.
    external_actions
        float [B, C, A] or [B, D]: actions that came from elsewhere.

    Raises
    ------
    TrajectoryValueError
        If both or neither of output and external_actions are given.
    """

    owner: ClassVar[Owner] = Owner.POLICY_PART

    sources: list[TrajectorySource]
    obs: Tree
    output: PolicyOutput | None = None
    external_actions: Tensor | None = None

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        if (self.output is None) == (self.external_actions is None):
            which = "neither is" if self.output is None else "both are"
            raise TrajectoryValueError(
                f"making a PolicyPart of {described(self.sources)}: {which} given; "
                "give exactly one of output and external_actions"
            )

    @property
    def inferred(self) -> bool:
        """Whether a policy inferred the actions."""
        return self.output is not None

    def split(self) -> list[PolicyPart]:
        """Cut it into one part per entry of `sources`."""
        if len(self.sources) == 1:
            return [self]
        sizes = [source.size for source in self.sources]
        shards = self._split_fields(sizes)
        outputs = self.output.split(sizes) if self.output else [None] * len(sizes)
        return [
            PolicyPart(sources=[source], output=output, **shard)
            for source, output, shard in zip(self.sources, outputs, shards, strict=True)
        ]

    @classmethod
    def merge(cls, fragments: Sequence[PolicyPart]) -> PolicyPart:
        """Put fragments of one source together.

        Raises
        ------
        TrajectoryValueError
            If there are none, some are inferred and some external, or their rows are
            not of one source without a hole.
        """
        sources = fused_source(fragments, "PolicyParts")
        inferred = {fragment.inferred for fragment in fragments}
        if len(inferred) > 1:
            raise TrajectoryValueError(
                f"merging PolicyParts of {described(sources)}: some are inferred and "
                "some have external actions; a chunk is one or the other"
            )
        outputs = [f.output for f in fragments if f.output is not None]
        return cls(
            sources=sources,
            output=PolicyOutput.merge(outputs) if outputs else None,
            **cls._merge_fields(fragments),
        )


def described(sources: Sequence[TrajectorySource] | None) -> str:
    """Name the rows that a message is about."""
    if not sources:
        return "no source"
    first = sources[0]
    others = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return f"{first.key}, rows {first.offset} to {first.offset + first.size}{others}"


def fused_source(fragments: Sequence[Any], kind: str) -> list[TrajectorySource]:
    """The one source that fragments make up together.

    Raises
    ------
    TrajectoryValueError
        If there are no fragments, or they are of several sources or leave a hole.
    """
    if not fragments:
        raise TrajectoryValueError(f"merging {kind}: there are none")
    fused = TrajectorySource.merge(fragment.sources for fragment in fragments)
    if len(fused) != 1:
        raise TrajectoryValueError(
            f"merging {kind} of {described(fused)}: the rows are not of one chunk "
            "without a hole; merge one chunk's fragments by ascending offset"
        )
    return fused
