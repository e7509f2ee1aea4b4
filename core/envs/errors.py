"""What can go wrong in an environment, told to people."""

from __future__ import annotations

from isoscope.core.errors import IsoscopeError, UsageError


class EnvError(IsoscopeError):
    """Base of what an environment refuses or fails to do."""


class TaskError(UsageError):
    """A task, or a setting of it, that can't be: unknown, or numbers that don't fit."""


class NotResetError(EnvError):
    """A step where only a reset can follow: ended, invalid, interrupted."""


class ActionError(EnvError):
    """An action of the wrong shape, or one that is not finite."""


class SceneThreadError(EnvError):
    """A scene entered from a thread that is not its own."""


class SceneClosedError(EnvError):
    """A scene, or an environment's share in one, that was let go of already."""


class SnapshotLostError(EnvError):
    """An environment whose own state is nowhere: its scene holds another's."""


class CleanupError(EnvError):
    """A cleanup that failed, so that its scene stays alive."""


class SharedConfigurationError(EnvError):
    """A persistent change in a shared scene, which all environments would get."""


class StateError(EnvError):
    """A captured state that does not belong to this environment, or is damaged."""
