"""Digests of generators: new where one moved, however it was seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.tap.adapters import generators
from isoscope.core.tap.adapters.generators import Several, Watched, memory_of

KINDS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox]


class Owner:
    def __init__(self, bits: Any) -> None:
        self._np_random = np.random.Generator(bits)


@pytest.mark.parametrize("seen_at_a_glance", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_digest_is_that_of_the_state(
    kind: Any, seen_at_a_glance: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not seen_at_a_glance:
        monkeypatch.setattr(generators, "memory_of", lambda bits: None)
    owner, watched = Owner(kind(3)), Watched()
    digests = []

    def look() -> None:
        digest = watched.digest(owner)
        assert digest == watched.digest(owner) == Watched().digest(owner)
        digests.append(digest)

    look()
    owner._np_random.integers(0, 9, dtype=np.uint32)  # half of a number is kept
    look()
    owner._np_random.integers(0, 9, dtype=np.uint32)
    look()
    owner._np_random.random()
    look()
    assert len(set(digests)) == 4
    first = owner._np_random.bit_generator.state
    owner._np_random = np.random.Generator(kind(4))
    look()
    owner._np_random.bit_generator.state = first
    look()
    assert digests[-1] == digests[3]
    assert digests[-2] not in digests[:4]


def test_only_what_is_laid_out_as_told_is_seen_at_a_glance() -> None:
    assert memory_of(np.random.PCG64(1)) is not None
    assert memory_of(np.random.MT19937(1)) is None
    assert memory_of(None) is None

    class PCG64:
        __module__ = "numpy.random.mine"

        class ctypes:  # noqa: N801 as NumPy calls it
            state_address = 8

    assert memory_of(PCG64()) is None


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937])
def test_several_are_told_again_only_where_one_has_moved(kind: Any) -> None:
    ones = [np.random.Generator(kind(seed)) for seed in range(2)]
    several, told = Several(), []

    def tell() -> bytes:
        told.append(repr([one.bit_generator.state for one in ones]).encode())
        return told[-1]

    digests = [several.digest(7, ones, tell) for _ in range(3)]
    assert len(set(digests)) == 1
    ones[1].random()
    digests.append(several.digest(7, ones, tell))
    ones[0].integers(3)
    digests += [several.digest(7, ones, tell), several.digest(8, ones, tell)]
    ones.append(np.random.Generator(kind(5)))
    digests.append(several.digest(8, ones, tell))
    assert len(set(digests)) == 4  # the seed is the caller's to tell
    before = len(told)
    for _ in range(5):
        several.digest(8, ones, tell)
    seen = kind is np.random.PCG64
    assert len(told) - before <= (1 if seen else 5)
