"""What is said to a process that holds an engine, and what it answers.

First `Make`, which is answered by `Made`; then blocks of operations, each answered by
one `Done`. Numbers of a state are in the engine's own precision, as bytes.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Make(msgspec.Struct, kw_only=True):
    """Make the scene.

    Attributes
    ----------
    file, factory
        The user's module and what is called in it, `arguments` and `named` with.
    actors
        Names and numbers that a recorded configuration has for the scene's actors, in
        the scene's order.
    driven
        By ``actor/field``, the components of a control input that are ever other than
        zero, so that only these are set.
    """

    file: str
    factory: str
    arguments: list[Any] = []
    named: dict[str, Any] = {}
    actors: list[tuple[str, int]] = []
    driven: dict[str, list[int]] = {}


class Made(msgspec.Struct, kw_only=True):
    """What was made, or why nothing was.

    Attributes
    ----------
    problem
        Empty if it is there.
    engine
        Engine, version, build and precision, as the tap tells them.
    topology, actors
        A digest of names and kinds of the actors, and these.
    dtype
        Of a state's numbers.
    fields
        What one read gives, in order: actors, names and shapes.
    """

    problem: str = ""
    engine: dict[str, Any] = {}
    topology: str = ""
    actors: list[tuple[str, str]] = []
    dtype: str = ""
    fields: list[tuple[str, str, list[int]]] = []


class Operation(msgspec.Struct, array_like=True, tag=True):
    """One of those below."""


class Capture(Operation):
    """Keep the present state as a handle that the other side chose."""

    handle: int


class Restore(Operation):
    """Go back to a kept state."""

    handle: int


class Release(Operation):
    """Forget a kept state."""

    handle: int


class RestoreBytes(Operation):
    """Go to a snapshot's state."""

    data: bytes


class Apply(Operation):
    """Set a control input of an actor."""

    actor: str
    field: str
    values: bytes


class Step(Operation):
    """Advance by h seconds."""

    h_s: float


class Read(Operation):
    """Read the state; a digest that is given is compared with the whole state's.

    Equal digests are proof that the states are equal. Others are none that they are
    not: the engine's bytes have gaps, and what is in these is another process's.
    """

    expected: bytes = b""


class Compare(Operation):
    """Compare the whole state with a snapshot's, as the engine compares them."""

    data: bytes


class Configure(Operation):
    """Set values of the persistent configuration; None within one keeps what is."""

    values: dict[str, Any]


class EditState(Operation):
    """Overwrite a part of an actor's state; the rest stays."""

    actor: str
    field: str
    component: int | str | None
    value: list[float]


class Check(Operation):
    """Refuse a snapshot that is of another scene or build, or cut."""

    data: bytes


class AskConfiguration(Operation):
    """Give the persistent configuration, and its digest."""


class AskState(Operation):
    """Give the present state as a snapshot's bytes."""


Operations = (
    Capture
    | Restore
    | Release
    | RestoreBytes
    | Apply
    | Step
    | Read
    | Compare
    | Configure
    | EditState
    | Check
    | AskConfiguration
    | AskState
)

# What a `Read` or `Compare` found of the whole state.
UNKNOWN, EQUAL, OTHER = 0, 1, 2


class Done(msgspec.Struct, kw_only=True):
    """What a block of operations gave.

    Attributes
    ----------
    reads
        The values of all reads, one after the other.
    states
        By read and comparison, in order: `UNKNOWN`, `EQUAL`, `OTHER`.
    result
        Of the last operation, if it asks for something.
    done
        How many operations were done.
    problem
        Why the next one wasn't; empty if all were.
    """

    reads: bytes = b""
    states: bytes = b""
    result: Any = None
    done: int = 0
    problem: str = ""
