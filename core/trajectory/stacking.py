"""Steps put one after another: the rows of a trajectory's fields.

Section 2.7 of the trajectory contract. A field with an extra row gets it where a step
carries it: before the step (its state before the epoch) or after it (the value of the
state that the epoch ends in). Each field is written once, into its own memory.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.trajectory.errors import (
    TrajectoryKeyError,
    TrajectoryRuntimeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import Field, Rows, trajectory_fields
from isoscope.core.trajectory.steps import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.trajectory.steps import TrajectoryStep

log = logging.getLogger(__name__)

Tensor = torch.Tensor
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _How:
    """What holds for all fields; see `stack`."""

    spans: Sequence[Span | None]
    tell: Callable[[str], None]
    batch_size: int | None


def stack(
    steps: Sequence[TrajectoryStep],
    spans: Sequence[Span | None],
    tell: Callable[[str], None] = log.warning,
    batch_size: int | None = None,
) -> list[Any]:
    """Stack every declared field of some steps, for some ranges of environments.

    Parameters
    ----------
    steps
        In order.
    spans
        A (first, end) of environments for each result; None for all of them.
    tell
        Where to say that something is left out: a dict's key that the first step's
        doesn't have.
    batch_size
        How many environments there must be; None if nobody knows.

    Returns
    -------
    list of dict
        One a span: contiguous tensors [rows, environments, ...] by field name, None
        where no step has the field; dicts of tensors for those that are dicts.

    Raises
    ------
    TrajectoryValueError
        If some steps have a field and others don't, or not all epochs have its extra
        row, or a dict holds what can't be stacked.
    TrajectoryKeyError
        If a dict lacks a key that another step's has, or all of them.
    TrajectoryRuntimeError
        If shapes differ, or are not of that many environments.
    """
    results: list[dict[str, Any]] = [{} for _ in spans]
    epochs = _epochs(steps)
    how = _How(spans, tell, batch_size)
    for field in trajectory_fields():
        if field.tree:
            trees = _trees(field, steps)
            pieces = _stack_trees(field, trees, how, field.name)
        else:
            pieces = _stack_rows(field, _rows(field, steps, epochs), how, field.name)
        for result, piece in zip(results, pieces, strict=True):
            result[field.name] = piece
    return results


def _epochs(steps: Sequence[TrajectoryStep]) -> int:
    """How many epochs begin in these steps; 0 if no step says."""
    names = [str(f.extra) for f in trajectory_fields() if f.rows is Rows.T_PLUS_FIRST]
    carried = [sum(step.__dict__.get(n) is not None for step in steps) for n in names]
    return max(carried, default=0)


def _rows(field: Field, steps: Sequence[TrajectoryStep], epochs: int) -> list[Tensor]:
    values = _values(field, steps)
    if field.extra is None:
        return values
    extras = [step.__dict__.get(field.extra) for step in steps]
    have = sum(extra is not None for extra in extras)
    if have and epochs and have != epochs:
        # The rows of this field would not belong to those of the others any more.
        raise TrajectoryValueError(
            f"stacking {field.name}: {have} of {epochs} epochs have {field.extra}; "
            "give it in every epoch or in none"
        )
    first = field.rows is Rows.T_PLUS_FIRST
    rows: list[Tensor] = []
    for at, extra in enumerate(extras):
        if first and extra is not None:
            rows.append(extra)
        if values:
            rows.append(values[at])
        if not first and extra is not None:
            rows.append(extra)
    return rows


def _values(field: Field, steps: Sequence[TrajectoryStep]) -> list[Tensor]:
    """A field of all steps; empty if none has it."""
    values = _sides(field, steps) or [step.__dict__.get(field.name) for step in steps]
    if field.name == FLAGS:
        values = _with_blanks(values, steps)
    absent = [at for at, value in enumerate(values) if value is None]
    if not absent:
        return values
    if len(absent) == len(values):
        return []
    if field.false_where_absent:
        blank = torch.zeros_like(next(v for v in values if v is not None))
        return [blank if v is None else v for v in values]
    raise TrajectoryValueError(
        f"stacking {field.name}: it is missing in chunk {absent[0]} of {len(values)} "
        f"({len(absent)} in all) and there in others; give it in every chunk or in none"
    )


def _with_blanks(
    flags: Sequence[Tensor | None], steps: Sequence[TrajectoryStep]
) -> list[Tensor | None]:
    """Intervention flags, all False where a step has actions and nobody flagged any.

    Steps with actions of one shape share them: they are copied into the trajectory.
    """
    return [
        _blank(step.actions.shape) if own is None and step.actions is not None else own
        for own, step in zip(flags, steps, strict=True)
    ]


@lru_cache(maxsize=4)
def _blank(shape: torch.Size) -> Tensor:
    return torch.zeros(shape, dtype=torch.bool)


def _sides(field: Field, steps: Sequence[TrajectoryStep]) -> list[Any] | None:
    """What one side flagged, if both sides flagged in any of the steps."""
    if field.name not in ("env_intervene_flags", "policy_intervene_flags"):
        return None
    if not any(s.env_side is not None and s.policy_side is not None for s in steps):
        return None
    if field.name == "env_intervene_flags":
        return [step.env_side for step in steps]
    return [step.policy_side for step in steps]


def _trees(field: Field, steps: Sequence[TrajectoryStep]) -> list[Any]:
    """A dict of all steps, without what an intervention took out of any of them."""
    trees = [step.__dict__[field.name] for step in steps]
    if field.name != "forward_inputs":
        return trees
    gone = frozenset().union(*[step.taken_out for step in steps])
    if not gone:
        return trees
    return [{k: v for k, v in tree.items() if k not in gone} for tree in trees]


def _stack_trees(
    field: Field,
    trees: Sequence[Any],
    how: _How,
    name: str,
) -> list[Any]:
    results: list[dict[Any, Any]] = [{} for _ in how.spans]
    if not trees:
        return results
    keys = trees[0].keys()
    for at, tree in enumerate(trees):
        if tree.keys() == keys:
            continue
        if lacking := [key for key in keys if key not in tree]:
            raise TrajectoryKeyError(
                f"stacking {name}[{lacking[0]!r}]: it is missing in chunk {at} of "
                f"{len(trees)} and there in the first; give it in every chunk or in "
                "none"
            )
        extra = sorted(str(key) for key in tree if key not in keys)
        if not keys:
            raise TrajectoryKeyError(
                f"stacking {name}: it is empty in the first chunk and has "
                f"{', '.join(extra)} in chunk {at} of {len(trees)}; give the same in "
                "every chunk"
            )
        how.tell(
            f"stacking {name}: {', '.join(extra)} of chunk {at} of {len(trees)} is "
            "left out, because the first chunk doesn't have it"
        )
    for key in keys:
        inner = f"{name}[{key!r}]"
        values = [tree[key] for tree in trees]
        if all(value is None for value in values):
            continue
        if all(isinstance(value, dict) for value in values):
            pieces = _stack_trees(field, values, how, inner)
        else:
            _check_tensors(values, inner)
            pieces = _stack_rows(field, values, how, inner)
        for result, piece in zip(results, pieces, strict=True):
            result[key] = piece
    return results


def _check_tensors(values: Sequence[Any], name: str) -> None:
    for at, value in enumerate(values):
        if not isinstance(value, torch.Tensor):
            what = "None" if value is None else type(value).__name__
            raise TrajectoryValueError(
                f"stacking {name}: it is {what} in chunk {at}, and only tensors can be "
                "stacked; make it a tensor in every chunk, or leave it out"
            )


def _stack_rows(
    field: Field, rows: Sequence[Tensor], how: _How, name: str
) -> list[Tensor | None]:
    if not rows:
        return [None] * len(how.spans)
    shape, axis = rows[0].shape, field.batch_axis
    if len({row.shape for row in rows}) > 1:
        at = next(at for at, row in enumerate(rows) if row.shape != shape)
        raise TrajectoryRuntimeError(
            f"stacking {name}: row 0 is {list(shape)} and row {at} "
            f"{list(rows[at].shape)}; give one shape in every chunk"
        )
    if how.batch_size is not None and shape[axis : axis + 1] != (how.batch_size,):
        raise TrajectoryRuntimeError(
            f"stacking {name}: it is {list(shape)} for {how.batch_size} environments; "
            f"make axis {axis} as long as the sources say"
        )
    if axis:
        rows = [row.movedim(axis, 0) for row in rows]
    return [
        torch.stack([row[span[0] : span[1]] for row in rows] if span else list(rows))
        for span in how.spans
    ]
