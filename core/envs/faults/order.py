"""Where a fault is to happen, as it is written: ``NAME@ENV:EPISODE/K``."""

from __future__ import annotations

import re

import msgspec

from isoscope.core.errors import UsageError

FORM = "NAME@ENV:EPISODE/K"
_WRITTEN = re.compile(r"(?P<name>[a-z][a-z0-9-]*)@(?P<place>.*)", re.ASCII)
_PLACE = re.compile(r"(\d{1,9}):(\d{1,9})/(\d{1,9})", re.ASCII)


class Place(msgspec.Struct, frozen=True, order=True):
    """A control step of an environment: env from 0, episode from 1, K from 1.

    K 0 is the reset that begins the episode.
    """

    env: int
    episode: int
    control_step: int

    def __str__(self) -> str:
        return f"{self.env}:{self.episode}/{self.control_step}"


class FaultOrder(msgspec.Struct, frozen=True):
    """A fault and where it is wanted."""

    name: str
    place: Place

    def __str__(self) -> str:
        return f"{self.name}@{self.place}"


def parse_order(text: str) -> FaultOrder:
    """Read ``NAME@ENV:EPISODE/K``; whether there is such a fault is not looked at.

    Raises
    ------
    UsageError
        For another form, or an episode 0.
    """
    found = _WRITTEN.fullmatch(text.strip())
    place = _PLACE.fullmatch(found["place"]) if found else None
    if found is None or place is None:
        raise UsageError(
            f"putting a fault in: {text!r} is no {FORM}; write missed-restore@0:2/5 "
            "for environment 0, episode 2, control step 5 (0 is the reset)"
        )
    env, episode, control_step = (int(number) for number in place.groups())
    if episode == 0:
        raise UsageError(f"putting a fault in: {text!r}: episodes count from 1")
    return FaultOrder(found["name"], Place(env, episode, control_step))
