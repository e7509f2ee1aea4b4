"""Steps put one after another: the rows of a trajectory's fields.

Section 2.7 of the trajectory contract. A field with an extra row gets it where a step
carries it: before the step (its state before the epoch) or after it (the value of the
state that the epoch ends in). Each field is written once, into its own memory.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
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
Held = Mapping[str, Any]  # what a step holds, by name


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
    held = [step.__dict__ for step in steps]
    epochs = _epochs(held)
    how = _How(spans, tell, batch_size)
    for field in trajectory_fields():
        if field.tree:
            trees = _trees(field, held)
            pieces = _stack_trees(field, trees, how, field.name)
        else:
            pieces = _stack_rows(field, _rows(field, held, epochs), how, field.name)
        for result, piece in zip(results, pieces, strict=True):
            result[field.name] = piece
    return results


def _epochs(held: Sequence[Held]) -> int:
    """How many epochs begin in these steps; 0 if no step says."""
    names = [str(f.extra) for f in trajectory_fields() if f.rows is Rows.T_PLUS_FIRST]
    return max([len(_carried(name, held)) for name in names], default=0)


def _carried(name: str, held: Sequence[Held]) -> list[tuple[int, Tensor]]:
    """The extra rows of a field, each with the number of the step that carries it."""
    rows = [values.get(name) for values in held]
    return [(at, row) for at, row in enumerate(rows) if row is not None]


def _rows(field: Field, held: Sequence[Held], epochs: int) -> list[Tensor]:
    """A field of all steps with its extra rows; empty if there are none."""
    rows = _values(field, held)
    if field.extra is None:
        return rows
    carried = _carried(field.extra, held)
    if carried and epochs and len(carried) != epochs:
        # The rows of this field would not belong to those of the others any more.
        raise TrajectoryValueError(
            f"stacking {field.name}: {len(carried)} of {epochs} epochs have "
            f"{field.extra}; give it in every epoch or in none"
        )
    if not rows:
        return [extra for _, extra in carried]
    behind = 0 if field.rows is Rows.T_PLUS_FIRST else 1
    for at, extra in reversed(carried):  # so that the others' places stay
        rows.insert(at + behind, extra)
    return rows


def _values(field: Field, held: Sequence[Held]) -> list[Tensor]:
    """A field of all steps; empty if none has it."""
    values = _sides(field, held) or [step.get(field.name) for step in held]
    if field.name == FLAGS:
        values = _with_blanks(values, held)
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
    flags: list[Tensor | None], held: Sequence[Held]
) -> list[Tensor | None]:
    """Intervention flags, all False where a step has actions and nobody flagged any.

    All such steps share them: they are copied into the trajectory.
    """
    actions = held[0].get("actions") if held else None
    if actions is None:
        return flags
    blank = _blank(actions.shape)  # all actions have one shape: they came first
    return [blank if own is None else own for own in flags]


@lru_cache(maxsize=4)
def _blank(shape: torch.Size) -> Tensor:
    return torch.zeros(shape, dtype=torch.bool)


def _sides(field: Field, held: Sequence[Held]) -> list[Any] | None:
    """What one side flagged, if both sides flagged in any of the steps."""
    if field.name not in ("env_intervene_flags", "policy_intervene_flags"):
        return None
    env = [step["env_side"] for step in held]
    policy = [step["policy_side"] for step in held]
    both = zip(env, policy, strict=True)
    if not any(e is not None and p is not None for e, p in both):
        return None
    return env if field.name == "env_intervene_flags" else policy


def _trees(field: Field, held: Sequence[Held]) -> list[Any]:
    """A dict of all steps, without what an intervention took out of any of them."""
    trees = [step[field.name] for step in held]
    if field.name != "forward_inputs":
        return trees
    gone = frozenset().union(*[step["taken_out"] for step in held])
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
    if set(map(type, values)) == {torch.Tensor}:
        return
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
    if how.batch_size is not None and shape[axis : axis + 1] != (how.batch_size,):
        raise TrajectoryRuntimeError(
            f"stacking {name}: it is {list(shape)} for {how.batch_size} environments; "
            f"make axis {axis} as long as the sources say"
        )
    if how.spans != [None]:
        _check_shapes(rows, name)  # rows that differ may have equal slices
    moved = [row.movedim(axis, 0) for row in rows] if axis else list(rows)
    try:
        return [
            torch.stack([row[span[0] : span[1]] for row in moved] if span else moved)
            for span in how.spans
        ]
    except RuntimeError:
        _check_shapes(rows, name)  # torch doesn't say which
        raise


def _check_shapes(rows: Sequence[Tensor], name: str) -> None:
    shape = rows[0].shape
    for at, row in enumerate(rows):
        if row.shape != shape:
            raise TrajectoryRuntimeError(
                f"stacking {name}: row 0 is {list(shape)} and row {at} "
                f"{list(row.shape)}; give one shape in every chunk"
            )
