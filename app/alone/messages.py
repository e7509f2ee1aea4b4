"""What the window and the process that steps again say to each other."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from isoscope.core.isolation.findings import Audit  # noqa: TC001 - msgspec reads it


class Ask(msgspec.Struct, frozen=True):
    """Which recording, and M where the user says it."""

    path: str
    substeps: int | None = None


class Share(msgspec.Struct, frozen=True, tag="share"):
    """How far it is, 0 to 1."""

    done: float


class Found(msgspec.Struct, frozen=True, tag="found"):
    """What the check says that asks for it."""

    audit: Audit


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Why nothing was stepped."""

    why: str


Said: TypeAlias = Share | Found | Refused
