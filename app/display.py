"""Whether there is a display to open a window on; without one Qt would abort."""

from __future__ import annotations

import ctypes
import os
import sys

from isoscope.core.errors import IsoscopeError

# Libraries that Qt's X11 platform needs and doesn't bring, and the Debian packages of
# them. Source: Qt 6 documentation, "Qt for X11 Requirements".
X11_LIBRARIES = {
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
}
NO_DISPLAY = (
    "opening the window: there is no display; set DISPLAY or WAYLAND_DISPLAY, or make "
    "a virtual one: apt-get install xvfb libgl1-mesa-dri libxcb-cursor0 "
    "libxkbcommon-x11-0, then run: xvfb-run -a isoscope"
)


class DisplayError(IsoscopeError):
    """There is nothing that a window could be opened on."""


def check_display() -> None:
    """Make sure that Qt can open a window here.

    Raises
    ------
    DisplayError
        If it can't; the message says which packages to install.
    """
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if not sys.platform.startswith("linux") or platform not in ("", "xcb"):
        return
    if platform == "" and os.environ.get("WAYLAND_DISPLAY"):
        return
    if not os.environ.get("DISPLAY"):
        raise DisplayError(NO_DISPLAY)
    missing = missing_x11_packages()
    if missing:
        raise DisplayError(
            "opening the window: Qt needs system libraries that are not here; run: "
            f"apt-get install {' '.join(missing)}"
        )
    if not _x_server_answers():
        name = os.environ["DISPLAY"]
        raise DisplayError(
            f"opening the window: no X server answers at DISPLAY={name}; "
            "check it, or run: xvfb-run -a isoscope"
        )


def has_display() -> bool:
    """Whether Qt can open a window here."""
    try:
        check_display()
    except DisplayError:
        return False
    return True


def missing_x11_packages() -> list[str]:
    """Debian packages of the libraries that Qt's X11 platform lacks here."""
    return [package for name, package in X11_LIBRARIES.items() if not _loads(name)]


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _x_server_answers() -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not failed
