"""What a re-simulation says, in its written form: ``isoscope.replay/1``."""

from __future__ import annotations

from typing import Literal

import msgspec

from isoscope.core.replay.forms import Comparison

Mode = Literal["actions", "pinned", "alone"]


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a divergence in its field, in a native step from its first on."""

    native: int
    size: float


class RestoreTwice(msgspec.Struct, frozen=True, kw_only=True):
    """What followed one snapshot, twice, with other steps between.

    Attributes
    ----------
    snapshot, after
        Its id, and the native row that it was taken after.
    steps, between
        Native steps of either run, and between them.
    equal
        Whether the two are equal to the last bit.
    first_difference
        The step of the run, from 0, after which the state first differs; None if none.
    why
        In words.
    """

    env: int
    snapshot: int
    after: int
    steps: int
    between: int
    equal: bool
    first_difference: int | None
    why: str


class Replay(Comparison, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """What a re-simulation says; a is the recording, b the engine.

    Attributes
    ----------
    mode
        ``"actions"``: from one snapshot on, under the recorded inputs, in the recorded
        order. ``"pinned"``: the state goes back to the recorded one at every snapshot.
        ``"alone"``: each environment with its own steps only.
    tolerances
        As given, by field, in its unit.
    growth
        Of the first divergence.
    states_compared, states_equal
        Places where the whole state was compared, in all that a snapshot covers: at
        recorded snapshots, and after each native step where the engine can tell. And
        those where it was equal to the last bit.
    twice
        Restore twice, for each environment; empty unless asked for.
    stopped
        Why it ended early; None if it didn't.
    """

    schema_: Literal["isoscope.compare/1", "isoscope.replay/1"] = "isoscope.replay/1"
    mode: Mode
    tolerances: dict[str, float]
    growth: list[Growth]
    states_compared: int
    states_equal: int
    twice: list[RestoreTwice]
    stopped: str | None
