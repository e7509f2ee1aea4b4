"""Which Isoscope this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def isoscope_version() -> str:
    """The installed version, or ``"unknown"`` where it runs without being installed."""
    try:
        return version("isoscope")
    except PackageNotFoundError:
        return "unknown"
