"""What a ledger of copies answers: sums of bytes, copies and synchronisations."""

from __future__ import annotations

from typing import Literal

import msgspec

Direction = Literal["h2d", "d2h", "d2d"]
DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h", "d2d")


class Traffic(msgspec.Struct, frozen=True):
    """Copies host to device (h2d), device to host (d2h) and device to device (d2d).

    ``_bytes`` are sums, ``_copies`` how many there were, ``syncs`` how often the host
    waited for the device.
    """

    h2d_bytes: int = 0
    h2d_copies: int = 0
    d2h_bytes: int = 0
    d2h_copies: int = 0
    d2d_bytes: int = 0
    d2d_copies: int = 0
    syncs: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            *(
                getattr(self, name) + getattr(other, name)
                for name in self.__struct_fields__
            )
        )


class StepTraffic(msgspec.Struct, frozen=True):
    """What was copied in one native step.

    Parameters
    ----------
    index
        Which one, counted from 0.
    total
        The sum over causes.
    by_cause
        Only causes that copied or waited in this step.
    """

    index: int
    total: Traffic
    by_cause: dict[str, Traffic]


class LedgerReport(msgspec.Struct, frozen=True):
    """The ``ledger`` of ``isoscope.demo/1``; its five keys are that schema's."""

    h2d_bytes: int
    d2h_bytes: int
    d2d_bytes: int
    syncs: int
    by_cause: dict[str, Traffic]


class Tally:
    """The sums while they grow; whoever holds one guards it."""

    def __init__(self) -> None:
        self._bytes = dict.fromkeys(DIRECTIONS, 0)
        self._copies = dict.fromkeys(DIRECTIONS, 0)
        self._syncs = 0
        self._frozen: Traffic | None = None  # until the next one is booked

    def book(self, direction: Direction | None, n_bytes: int, syncs: int) -> None:
        """Add one copy (None: only a wait) and its synchronisations."""
        if direction is not None:
            self._bytes[direction] += n_bytes
            self._copies[direction] += 1
        self._syncs += syncs
        self._frozen = None

    def freeze(self) -> Traffic:
        """Return the sums as they are now: the same object where nothing was added."""
        if self._frozen is not None:
            return self._frozen
        size, count = self._bytes, self._copies
        self._frozen = Traffic(
            h2d_bytes=size["h2d"],
            h2d_copies=count["h2d"],
            d2h_bytes=size["d2h"],
            d2h_copies=count["d2h"],
            d2d_bytes=size["d2d"],
            d2d_copies=count["d2d"],
            syncs=self._syncs,
        )
        return self._frozen
