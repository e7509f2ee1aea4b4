"""The written form of ``isoscope doctor``: what works on this machine."""

from __future__ import annotations

import platform
import sys
from typing import Literal

import msgspec

Answer = Literal["ok", "missing", "broken"]


class Check(msgspec.Struct):
    """One thing that was looked at.

    Attributes
    ----------
    name
        What it is.
    answer
        ``"ok"``, ``"missing"`` where something optional is not there, ``"broken"``
        where it is there and does not work.
    detail
        Version, device, or what went wrong; one line.
    remedy
        What to do; empty where there is nothing to do.
    """

    name: str
    answer: Answer
    detail: str = ""
    remedy: str = ""


class Doctor(msgspec.Struct, kw_only=True):
    """All checks, and what they were made on."""

    schema: str = "isoscope.doctor/1"
    python: str
    platform: str
    checks: list[Check]

    @property
    def broken(self) -> list[Check]:
        """The checks that say broken."""
        return [check for check in self.checks if check.answer == "broken"]


def doctor_of(checks: list[Check]) -> Doctor:
    """Put the checks together with this interpreter and this system."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Doctor(
        python=f"{platform.python_implementation()} {version}",
        platform=platform.platform(),
        checks=checks,
    )
