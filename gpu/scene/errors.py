"""What can be asked of a scene that it must refuse."""

from __future__ import annotations

from isoscope.gpu.errors import SimulationError


class SceneError(SimulationError):
    """A call that doesn't fit the scene: shapes, masks, fields, callbacks."""


class SceneClosedError(SceneError):
    """A scene that was closed is used."""


class SceneThreadError(SceneError):
    """A scene is entered from a thread other than the one that steps it."""


class SnapshotError(SceneError):
    """A handle or bytes that this scene can't go back to; nothing was changed."""


class ConfigurationError(SceneError):
    """A persistent value that makes no sense; nothing was changed."""
