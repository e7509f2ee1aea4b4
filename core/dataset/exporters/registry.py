"""Which module writes which dataset format: a dictionary with late imports.

An exporter is a module with ``FORMAT`` (its key here), ``ABOUT`` (one line), ``EXTRA``
(what has to be installed, or empty), ``FOLDER`` (whether a dataset is a folder),
``READ_AS`` (key of the reader that reads it back), ``name(feature)`` (what a feature is
called there), ``holds(features)`` (what it can't hold, and why), ``fit(plan)`` (columns
and order as the format wants them; refuses) and ``write(plan, place, tick)``. One that
writes more than columns of episodes also has ``verify(plan, place, tick)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan, Refusal
    from isoscope.core.dataset.model import Feature

EXPORTERS: dict[str, str] = {
    "lerobot": "isoscope.core.dataset.exporters.lerobot",
    "minari": "isoscope.core.dataset.exporters.minari",
    "robomimic": "isoscope.core.dataset.exporters.robomimic",
    "maniskill": "isoscope.core.dataset.exporters.maniskill",
    "shards": "isoscope.core.dataset.exporters.shards",
    "isoscope": "isoscope.core.dataset.exporters.labelled",
}


class Exporter(Protocol):
    """What an exporter module offers."""

    FORMAT: str
    ABOUT: str
    EXTRA: str
    FOLDER: bool
    READ_AS: str

    def name(self, feature: Feature) -> str:
        """What a feature is called in the format, by its role."""
        ...

    def holds(self, features: Sequence[Feature]) -> list[Refusal]:
        """Features that the format can't hold, and why."""
        ...

    def fit(self, plan: Plan, target: Path) -> None:
        """Add what the format wants; raises UsageError where it can't be had."""
        ...

    def write(self, plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
        """Write all of it; `tick` is told how many rows are done, and may raise."""
        ...


def exporter(key: str) -> Exporter:
    """The exporter of this key.

    Raises
    ------
    UsageError
        If no such format is known; the message lists the formats.
    """
    if key not in EXPORTERS:
        raise UsageError(f"no exporter for {key!r}; there is {', '.join(EXPORTERS)}")
    return cast("Exporter", importlib.import_module(EXPORTERS[key]))
