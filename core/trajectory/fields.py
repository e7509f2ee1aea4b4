"""Every field of a chunk and of a trajectory, declared once.

A declaration says who fills the field, where its batch axis is, how its shards are put
together, and how many rows it has in a trajectory. Splitting, merging, stacking, both
ways to the actors, the export and the inspector ask here and know no field by name. A
field of one's own is one call of `declare` (ARCHITECTURE.md shows it).

T is the number of chunks in a trajectory and E the number of rollout epochs in it; a
field that describes the states between chunks has T+E rows::

    T               a0  a1 ... a(n-1)         | a0' ...
    T_PLUS_FIRST    d_b d0 d1  ... d(n-1)     | d_b' d0' ...    before the first chunk
    T_PLUS_LAST     V0  V1 ... V(n-1) V_final | V0' ...         after the last chunk

No torch in here: the inspector reads the declarations too.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as attribute
from enum import Enum, StrEnum
from functools import cache
from typing import TYPE_CHECKING

from isoscope.core.trajectory.errors import TrajectoryValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Owner(StrEnum):
    """Which record carries a field on its way, and so who fills it."""

    POLICY_INPUT = "PolicyInput"
    POLICY_PART = "PolicyPart"
    POLICY_OUTPUT = "PolicyOutput"
    ENV_TRANSITION = "EnvTransition"
    ENV_PART = "EnvPart"
    COLLECTOR = "TrajectoryStep"


class Rows(Enum):
    """How many rows a field has in a trajectory."""

    NONE = "not in trajectories"
    T = "T"
    T_PLUS_FIRST = "T+E, the extra row of an epoch first"
    T_PLUS_LAST = "T+E, the extra row of an epoch last"


_PREFIX = {Rows.T_PLUS_FIRST: "initial_", Rows.T_PLUS_LAST: "final_"}


class Merge(Enum):
    """How shards of a field are put together; splitting is its inverse."""

    CONCATENATE = "along the batch axis"
    ZERO_WHERE_ABSENT = "along the batch axis, zeros where a shard has none"
    EPISODE = "an episode's data: along the batch, inside its time lists"


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Attributes
    ----------
    name
        Its name in every record.
    owner
        The record that brings it. The step takes it from there under the same name;
        what the collector owns is computed when the halves are joined.
    rows
        Its rows in a trajectory. With an extra row, the step has one more field:
        ``initial_<name>`` from the environment's initial transition, or
        ``final_<name>`` from the environment part.
    batch_axis
        Where a chunk's environments are. In a trajectory they are axis 1, always.
    merge
        How shards are put together.
    tree
        Whether it is a dict of values; then it is never None, but empty.
    required
        Whether a record can't be made without it.
    previous_info
        Whether it is only kept with `rollout.collect_prev_infos`.
    replayed
        Whether it goes into the trajectories that only hold interventions.
    false_where_absent
        Whether a chunk without it counts as False, instead of being refused when other
        chunks have it.
    shape, dtype
        For people: the shape for one chunk, such as ``"[B, C]"``.
    doc
        For people: what it is, in a few words.
    extra
        The step's field that holds an epoch's extra row; None without one.
    """

    name: str
    owner: Owner
    rows: Rows = Rows.T
    batch_axis: int = 0
    merge: Merge = Merge.CONCATENATE
    tree: bool = False
    required: bool = False
    previous_info: bool = False
    replayed: bool = True
    false_where_absent: bool = False
    shape: str = ""
    dtype: str = ""
    doc: str = ""
    extra: str | None = attribute(init=False, default=None)

    def __post_init__(self) -> None:
        prefix = _PREFIX.get(self.rows)
        if prefix is not None:
            object.__setattr__(self, "extra", prefix + self.name)


def _built_in() -> tuple[Field, ...]:
    from isoscope.core.trajectory.builtin_fields import FIELDS

    return FIELDS


_declared: list[Field] = []


def declare(new: Field) -> Field:
    """Add a field; from then on it is accepted, carried and emitted like any other.

    Say it once in every process that makes parts or collects, before the first of them:
    in a module that all of them import.

    Raises
    ------
    TrajectoryValueError
        If there is a field of this name already, in that record or in trajectories; if
        a request's field would have rows.
    """
    if not new.name.isidentifier():
        raise TrajectoryValueError(
            f"declaring the field {new.name!r}: that is no name; "
            "use letters, digits and underscores"
        )
    if new.owner is Owner.POLICY_INPUT and new.rows is not Rows.NONE:
        raise TrajectoryValueError(
            f"declaring the field {new.name!r}: a request never reaches the collector, "
            "so that it can't have rows in trajectories; say Rows.NONE"
        )
    for other in all_fields():
        both_rows = Rows.NONE not in (new.rows, other.rows)
        taken = {other.name, *([other.extra] if other.extra else ())}
        if new.name in taken and (both_rows or new.owner is other.owner):
            raise TrajectoryValueError(
                f"declaring the field {new.name!r}: {other.owner} brings one of this "
                "name; choose another"
            )
    _declared.append(new)
    _forget()
    return new


def withdraw(name: str) -> None:
    """Take back what `declare` added under this name."""
    _declared[:] = [field for field in _declared if field.name != name]
    _forget()


@contextmanager
def declared(field: Field) -> Iterator[Field]:
    """Declare a field for the length of a block."""
    declare(field)
    try:
        yield field
    finally:
        withdraw(field.name)


def all_fields() -> tuple[Field, ...]:
    """Every declared field, those of one's own last."""
    return (*_built_in(), *_declared)


@cache
def fields_of(owner: Owner) -> tuple[Field, ...]:
    """What one record carries along the batch.

    The environment part also carries the final rows of fields that have them.
    """
    own = [field for field in all_fields() if field.owner is owner]
    if owner is Owner.ENV_PART:
        names = {field.name for field in own}
        own += [
            Field(field.extra, owner, Rows.NONE, field.batch_axis, field.merge)
            for field in trajectory_fields()
            if field.rows is Rows.T_PLUS_LAST
            and field.extra is not None
            and field.extra not in names
        ]
    return tuple(own)


@cache
def trajectory_fields() -> tuple[Field, ...]:
    """The fields of a trajectory, in its order."""
    return tuple(field for field in all_fields() if field.rows is not Rows.NONE)


@cache
def names_with_extra_row() -> frozenset[str]:
    """Fields of a trajectory that have a row more an epoch than there are chunks."""
    return frozenset(f.name for f in trajectory_fields() if f.extra is not None)


@cache
def trajectory_field(name: str) -> Field:
    """The trajectory's field of this name.

    Raises
    ------
    TrajectoryValueError
        If there is none.
    """
    for field in trajectory_fields():
        if field.name == name:
            return field
    raise TrajectoryValueError(
        f"looking up the field {name!r}: a trajectory has none of this name; "
        "declare it first"
    )


def _forget() -> None:
    for cached in (
        fields_of,
        trajectory_fields,
        names_with_extra_row,
        trajectory_field,
    ):
        cached.cache_clear()
    for told in _on_change:
        told()


_on_change: list[Callable[[], None]] = []


def on_change(tell: Callable[[], None]) -> None:
    """Have something told whenever the declarations change; what caches them does."""
    _on_change.append(tell)
