"""Digests of random generators' states, read without drawing and without making any.

Gymnasium makes a generator when it is first asked for: so only attributes that are
there already are looked at.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from isoscope.core.recording.labelled.records import DIGEST_BYTES

PLAIN = ("PCG64", "PCG64DXSM")  # whose states are numbers, without arrays


class Generators:
    """The generators of one environment and of its action space."""

    __slots__ = ("_action", "_env")

    def __init__(self) -> None:
        self._env = Watched()
        self._action = Watched()

    def digests(self, env: Any, action_space: Any) -> tuple[bytes, bytes]:
        """Of the innermost environment's generator and its action space's; b"" none."""
        return self._env.digest(env), self._action.digest(action_space)


class Watched:
    """A generator's last state and its digest; both are new only where it has moved."""

    __slots__ = ("_digest", "_state")

    def __init__(self) -> None:
        self._state: Any = None
        self._digest = b""

    def digest(self, owner: Any) -> bytes:
        """BLAKE2b of the state of the owner's generator; b"" if it has none yet."""
        state = state_of(owner)
        if state is None:
            return b""
        plain = state["bit_generator"] in PLAIN
        if plain and state == self._state:
            return self._digest
        self._state = state
        text = repr(state).encode() if plain else _flat(state)
        self._digest = hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()
        return self._digest


def state_of(owner: Any) -> Any:
    """The state of an owner's generator, as NumPy gives it; None if it has none yet."""
    generator = getattr(owner, "__dict__", {}).get("_np_random")
    bits = getattr(generator, "bit_generator", None)
    return None if bits is None else bits.state


def _flat(state: Any) -> bytes:
    if isinstance(state, dict):
        return b"".join(_flat(key) + _flat(value) for key, value in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else repr(state).encode()
