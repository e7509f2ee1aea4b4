"""Random numbers by purpose: streams that never collide, and that can be captured.

Each environment has a seed and one generator for every purpose, spawned from the seed
by the purpose's number (NumPy's `SeedSequence`, spawn keys). Drawing more for one
purpose never moves another: turning observation noise on does not change where episodes
begin.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec
import numpy as np

from isoscope.core.envs.errors import StateError
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

Purpose: TypeAlias = Literal[
    "reset_position",
    "reset_velocity",
    "randomisation",
    "task",
    "action_noise",
    "observation_noise",
    "bias",
    "delay",
    "action_space",
    "policy",
]
# A purpose's number is part of every seed's meaning: append, never reorder.
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


class _Blank(np.random.bit_generator.ISeedSequence):
    """Seeds what gets its state at once anyhow; a real one takes 20 times as long."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        return np.zeros(n_words, dtype)


_BLANK: Any = _Blank()


class StreamState(msgspec.Struct, frozen=True):
    """Where a PCG64 stream stands; its 128-bit numbers in hexadecimal."""

    purpose: Purpose
    state: str
    increment: str
    has_uint32: int
    uinteger: int

    def as_numpy(self) -> dict[str, Any]:
        """The state as NumPy's bit generator gives it."""
        return {
            "bit_generator": "PCG64",
            "state": {"state": int(self.state, 16), "inc": int(self.increment, 16)},
            "has_uint32": self.has_uint32,
            "uinteger": self.uinteger,
        }


class StreamsState(msgspec.Struct, frozen=True):
    """An environment's seed and the streams it has begun."""

    seed: str
    streams: tuple[StreamState, ...]


class Streams:
    """The random streams of one environment.

    Parameters
    ----------
    seed
        Not negative; None takes one from the operating system. It is kept, so that a
        run that nobody seeded can be told from another, and repeated.
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and seed < 0:
            raise UsageError(f"seeding an environment: {seed} is negative")
        self.seed = secrets.randbits(64) if seed is None else int(seed)
        self._generators: dict[Purpose, np.random.Generator] = {}

    def __getitem__(self, purpose: Purpose) -> np.random.Generator:
        """The generator of a purpose, begun when it is first asked for."""
        generator = self._generators.get(purpose)
        if generator is None:
            key = (PURPOSES.index(purpose),)
            sequence = np.random.SeedSequence(self.seed, spawn_key=key)
            generator = np.random.Generator(np.random.PCG64(sequence))
            self._generators[purpose] = generator
        return generator

    def begun(self) -> Sequence[np.random.Generator]:
        """The generators that were asked for so far, in that order."""
        return tuple(self._generators.values())

    def capture(self) -> StreamsState:
        """Where all streams stand."""
        return StreamsState(
            hex(self.seed),
            tuple(_state(p, g) for p, g in sorted(self._generators.items())),
        )

    def restore(self, captured: StreamsState) -> None:
        """Go on from there; streams that had not begun then begin anew.

        Raises
        ------
        StateError
            If it is no state of such streams.
        """
        try:
            seed = int(captured.seed, 16)
            generators = {s.purpose: _generator(s) for s in captured.streams}
        except (ValueError, TypeError, OverflowError) as error:
            raise StateError(f"restoring random streams: {error}") from None
        self.seed, self._generators = seed, generators


def clone(generator: np.random.Generator) -> np.random.Generator:
    """A generator that will draw the same numbers, without moving this one."""
    bits = np.random.PCG64(_BLANK)
    state: Any = generator.bit_generator.state
    bits.state = state
    return np.random.Generator(bits)


def _state(purpose: Purpose, generator: np.random.Generator) -> StreamState:
    state: Any = generator.bit_generator.state
    return StreamState(
        purpose,
        hex(state["state"]["state"]),
        hex(state["state"]["inc"]),
        int(state["has_uint32"]),
        int(state["uinteger"]),
    )


def _generator(captured: StreamState) -> np.random.Generator:
    bits = np.random.PCG64(_BLANK)
    state: Any = captured.as_numpy()
    bits.state = state
    return np.random.Generator(bits)
