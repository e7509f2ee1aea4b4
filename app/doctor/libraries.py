"""System libraries that Qt and OpenGL load, and the Debian packages that bring them."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from isoscope.app.doctor import probe

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# What Qt's platform plugins and its OpenGL need, by soname (Debian 12 and 13, Ubuntu
# 22.04 and later; where a name has changed with time_t, apt finds the new one).
DEBIAN = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libglx0",
    "libOpenGL.so.0": "libopengl0",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libXext.so.6": "libxext6",
    "libXrender.so.1": "libxrender1",
    "libXi.so.6": "libxi6",
    "libSM.so.6": "libsm6",
    "libICE.so.6": "libice6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libdrm.so.2": "libdrm2",
    "libexpat.so.1": "libexpat1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libgbm.so.1": "libgbm1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xinerama.so.0": "libxcb-xinerama0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
LDD_TIMEOUT_S = 20.0
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_SONAME = re.compile(r"\blib[\w.+-]+?\.so(?:\.\d+)*")


def missing_libraries(binary: Path) -> list[str]:
    """Sonames that the loader does not find for this library; none without ldd."""
    ldd = shutil.which("ldd")
    if ldd is None:
        return []
    return missing_in(probe.run([ldd, str(binary)], LDD_TIMEOUT_S).out)


def missing_in(ldd_says: str) -> list[str]:
    """The sonames that ldd's output calls not found, each once."""
    return list(dict.fromkeys(_NOT_FOUND.findall(ldd_says)))


def library_in(message: str) -> str | None:
    """The soname that a failed import is about, or None."""
    if "shared object" not in message:
        return None
    found = _SONAME.search(message)
    return found.group() if found else None


def how_to_install(sonames: Iterable[str]) -> str:
    """What to type to get these libraries, on Debian and Ubuntu."""
    sonames = list(sonames)
    packages = sorted({DEBIAN[name] for name in sonames if name in DEBIAN})
    others = sorted(name for name in sonames if name not in DEBIAN)
    parts = []
    if packages:
        parts.append(f"apt-get install {' '.join(packages)}")
    if others:
        parts.append(f"install what brings {', '.join(others)}")
    return "; ".join(parts)
