"""Whether a window can open: Qt's platform plugin, a display, OpenGL."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path

from isoscope.app.display import DisplayError
from isoscope.app.display import check_display as refuse_without_display
from isoscope.app.doctor import probe
from isoscope.app.doctor.libraries import how_to_install, missing_libraries
from isoscope.core.doctor import Check

PLATFORM = """
from PySide6.QtGui import QGuiApplication
app = QGuiApplication(["doctor"])
screen = app.primaryScreen()
size = screen.size()
print(app.platformName(), f"{size.width()}x{size.height()}",
      f"at {screen.devicePixelRatio() * 100:.0f} %")
"""
OPENGL = """
import json
from PySide6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext
app = QGuiApplication(["doctor"])
surface = QOffscreenSurface()
surface.create()
context = QOpenGLContext()
if not context.create():
    raise SystemExit("no OpenGL context can be made")
if not context.makeCurrent(surface):
    raise SystemExit("the OpenGL context can't be made current")
gl = context.functions()
print(json.dumps([gl.glGetString(name) for name in (0x1F02, 0x1F01, 0x1F00)]))
"""
VIRTUAL = ("xvfb-run", "-a", "-s", "-screen 0 640x480x24 -nolisten tcp")
ON_VIRTUAL = "xvfb-run -a isoscope open … --screenshot F.png draws without one"
OLDEST_OPENGL = 2  # vispy's drawing needs OpenGL 2.1
OPENING = "opening the window: "
NO_QT = Check("", "missing", "PySide6 is not installed", "pip install 'isoscope[app]'")


def check_display() -> list[Check]:
    """Look at the platform plugin, the display, Xvfb and OpenGL."""
    xvfb = check_xvfb()
    if not qt_installed():
        checks = [
            Check(name, NO_QT.answer, NO_QT.detail, NO_QT.remedy)
            for name in ("qt platform", "opengl")
        ]
        return [*checks, xvfb]
    problem, remedy = display_problem()
    if problem and xvfb.answer == "ok" and not missing_for_qt():
        # Without a display a picture can still be made on a virtual one.
        platform = Check("qt platform", "missing", problem, ON_VIRTUAL)
        return [platform, check_opengl(VIRTUAL), xvfb]
    if problem:
        platform = Check("qt platform", "missing", problem, remedy)
        if missing_for_qt():
            platform.answer = "broken"
        return [platform, Check("opengl", "missing", "needs a display"), xvfb]
    return [_check_platform(), check_opengl(), xvfb]


def qt_installed() -> bool:
    """Whether PySide6 is there; it is not imported."""
    return importlib.util.find_spec("PySide6") is not None


def display_problem() -> tuple[str, str]:
    """Why no window can open here, and what to do; both empty if nothing is known.

    Qt ends the process where it finds no display or can't load its plugin, so this is
    found out before Qt is asked.
    """
    missing = missing_for_qt()
    if missing:
        return f"Qt can't load {', '.join(missing)}", how_to_install(missing)
    try:
        refuse_without_display()
    except DisplayError as error:
        problem, _, remedy = str(error).removeprefix(OPENING).partition("; ")
        return problem, remedy
    return "", ""


def missing_for_qt() -> list[str]:
    """System libraries that Qt's xcb plugin needs and the loader does not find."""
    chosen = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    spec = importlib.util.find_spec("PySide6")
    if spec is None or spec.origin is None or chosen not in ("", "xcb"):
        return []
    plugin = Path(spec.origin).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    return missing_libraries(plugin) if plugin.exists() else []


def check_opengl(before: tuple[str, ...] = ()) -> Check:
    """Make an OpenGL context in a process of its own and ask who draws."""
    where = " (on a virtual display)" if before else ""
    done = probe.run_python(OPENGL, before=before)
    said = done.out.strip().splitlines()
    if not done.ok or not said:
        remedy = "update the graphics driver, or apt-get install libgl1-mesa-dri"
        return Check("opengl", "broken", f"{done.why}{where}", remedy)
    version, renderer, vendor = json.loads(said[-1])
    detail = f"{version}, {renderer}, {vendor}{where}"
    major = str(version).partition(".")[0]
    if major.isdecimal() and int(major) < OLDEST_OPENGL:
        remedy = "update the graphics driver; the scene needs OpenGL 2.1"
        return Check("opengl", "broken", detail, remedy)
    return Check("opengl", "ok", detail)


def check_xvfb() -> Check:
    """Look for the virtual display that pictures are made on without a screen."""
    found = [shutil.which(name) for name in ("Xvfb", "xvfb-run")]
    if all(found):
        return Check("xvfb", "ok", str(found[0]))
    return Check("xvfb", "missing", "not on the path", "apt-get install xvfb xauth")


def _check_platform() -> Check:
    done = probe.run_python(PLATFORM)
    if done.ok:
        return Check("qt platform", "ok", done.out.strip())
    remedy = "QT_DEBUG_PLUGINS=1 isoscope says what Qt tried"
    return Check("qt platform", "broken", done.why, remedy)
