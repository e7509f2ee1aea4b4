"""Whether this machine can draw in 3D, found out before anything is tried."""

from __future__ import annotations

import os

from PySide6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext

SWITCH_OFF = "ISOSCOPE_NO_GL"
OLDEST = (2, 1)
# Qt's platforms without a window system have no OpenGL either.
_WITHOUT = ("offscreen", "minimal", "vnc")
PACKAGES = "libgl1 libglx-mesa0 libegl1 libgl1-mesa-dri"


def missing() -> str:
    """Why there can be no 3D view, as one sentence; empty if there can."""
    if os.environ.get(SWITCH_OFF, "") not in ("", "0"):
        return f"3D is switched off by {SWITCH_OFF}."
    platform = QGuiApplication.platformName()
    if platform in _WITHOUT:
        return f"Qt's {platform} platform has no OpenGL."
    context = QOpenGLContext()
    if not context.create():
        return "No OpenGL context could be created."
    surface = QOffscreenSurface()
    surface.setFormat(context.format())
    surface.create()
    if not context.makeCurrent(surface):
        return "The OpenGL context could not be used."
    found = context.format().version()
    context.doneCurrent()
    if tuple(found) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        return f"OpenGL {found[0]}.{found[1]} is too old; {needed} is needed."
    return ""
