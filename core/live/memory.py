"""How much of a run that is watched is in memory, and what is read from its file."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
NEARLY_ALL = 0.97  # of the cap, at which both halves are full


@dataclass(frozen=True, slots=True)
class Memory:
    """What is kept in memory of a run that is watched.

    Attributes
    ----------
    used_bytes, cap_bytes
        What values and columns take, and what they may: half is for values that were
        read, half for the steps' columns, and neither can have of the other's.
    in_file
        Rows, from the first one, that are no longer kept: they are read again from the
        run's recording when they are looked at.
    """

    used_bytes: int
    cap_bytes: int
    in_file: int = 0

    @property
    def words(self) -> str:
        """In a few words: ``"3.2 of 128 MiB"``, and where one half of it is full."""
        used = self.used_bytes / MIB
        shown = f"{used:.1f}" if used < 10 else f"{used:,.0f}"
        words = f"{shown} of {self.cap_bytes // MIB:,} MiB"
        full = self.used_bytes >= NEARLY_ALL * self.cap_bytes
        return words if full or not self.in_file else f"{words}, a half of it full"


def rows_spilled(rows: int, used_bytes: int, cap_bytes: int) -> int:
    """How many of so many rows, the oldest first, have no room under the cap."""
    if used_bytes <= cap_bytes:
        return 0
    return min(int(rows * (1 - cap_bytes / used_bytes)), rows)
