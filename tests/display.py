"""A virtual display for tests and benchmarks: Xvfb, where it is installed.

python -m tests.display COMMAND [ARGUMENT ...]     runs COMMAND on one
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys

SCREEN = "1920x1200x24"
QUIET = ("-nolisten", "tcp", "-noreset")
START_S = 20.0
PROBE_S = 60.0

# In a process of its own, since a broken driver may take the process down.
PROBE = """
import sys
from PySide6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext
app = QGuiApplication(["probe"])
surface = QOffscreenSurface()
surface.create()
context = QOpenGLContext()
sys.exit(0 if context.create() and context.makeCurrent(surface) else 1)
"""


def start() -> subprocess.Popen[bytes] | None:
    """Start Xvfb on a free display and set DISPLAY; None where it isn't installed."""
    program = shutil.which("Xvfb")
    if program is None:
        return None
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(write_end), "-screen", "0", SCREEN, *QUIET],
        pass_fds=[write_end],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    number = ""
    try:
        # The number and its newline are written apart, and the server dies if it
        # can't write the second.
        while not number.endswith("\n"):
            ready, _, _ = select.select([read_end], [], [], START_S)
            part = os.read(read_end, 16).decode() if ready else ""
            if not part:
                break
            number += part
    finally:
        os.close(read_end)
    number = number.strip()
    if not number:
        server.kill()
        server.wait()
        return None
    os.environ["DISPLAY"] = f":{number}"
    os.environ["QT_QPA_PLATFORM"] = "xcb"
    return server


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the display."""
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def opengl_works() -> bool:
    """Whether an OpenGL context can be made on the present display."""
    try:
        probe = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, timeout=PROBE_S
        )
    except subprocess.TimeoutExpired:
        return False
    return probe.returncode == 0


def main() -> int:
    """Run the command of the arguments on a virtual display, if there is one."""
    server = start()
    try:
        return subprocess.run(sys.argv[1:]).returncode
    finally:
        if server is not None:
            stop(server)


if __name__ == "__main__":
    sys.exit(main())
