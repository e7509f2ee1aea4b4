"""What all tests share: a virtual display, isolated folders, an account of skips.

Displays are started before any Qt, by the process that hands out the tests: one for
each process that runs some, since without a window manager the window that was shown
last has the keyboard, whosever it is. Where Xvfb is missing, Qt runs offscreen, which
has no OpenGL, and the tests marked `gl` are skipped; with ISOSCOPE_REQUIRE_GL=1
(continuous integration) that is a failure.
"""

from __future__ import annotations

import gc
import lzma
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests import display

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

DATA = Path(__file__).parent / "data"
RECORDINGS = DATA / "recordings"
# A machine that is busy with other tests is no failure.
settings.register_profile("patient", deadline=None)
# Continuous integration judges the change, with the same examples each time; what
# only luck finds is looked for everywhere else.
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile(
    "same" if os.environ.get("ISOSCOPE_REQUIRE_GL") == "1" else "patient"
)

NO_GL = "needs OpenGL: install xvfb and libgl1-mesa-dri, or run on a display"

# Large runs use as many processes as there are cores; their libraries use one each.
os.environ.setdefault("LP_NUM_THREADS", "1")
os.environ.setdefault("QT_QUICK_BACKEND", "software")


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", None)
    if given is not None:
        os.environ["DISPLAY"] = given.get("display", os.environ.get("DISPLAY", ""))
        return
    if started_display(config) is None and not os.environ.get("DISPLAY"):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    offscreen = os.environ.get("QT_QPA_PLATFORM") == "offscreen"
    os.environ["ISOSCOPE_TEST_GL"] = str(int(not offscreen and display.opengl_works()))


def started_display(config: pytest.Config) -> subprocess.Popen[bytes] | None:
    """A display that goes when the tests are over; None where there is no Xvfb."""
    server = display.start()
    if server is not None:
        config.add_cleanup(lambda: display.stop(server))
    return server


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a process that runs tests a display of its own."""
    before = os.environ.get("DISPLAY")
    if started_display(node.config) is not None:
        node.workerinput["display"] = os.environ["DISPLAY"]
    if before is not None:
        os.environ["DISPLAY"] = before


def pytest_collection() -> None:
    # Nothing that is collected goes away; looking at it again and again takes seconds.
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("ISOSCOPE_TEST_GL") == "1":
        return
    if os.environ.get("ISOSCOPE_REQUIRE_GL") == "1":
        raise pytest.UsageError(f"OpenGL is required here and does not work: {NO_GL}")
    for item in items:
        if item.get_closest_marker("gl"):
            item.add_marker(pytest.mark.skip(reason=NO_GL))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's settings, data and cache."""
    for name in ("CONFIG", "DATA", "CACHE", "RUNTIME"):
        monkeypatch.setenv(f"ISOSCOPE_{name}_DIR", str(tmp_path / name.lower()))


@pytest.fixture(autouse=True)
def same_look() -> Iterator[None]:
    """Leave the application without a style sheet, whatever a test gave it."""
    yield
    widgets = sys.modules.get("PySide6.QtWidgets")
    app = widgets.QApplication.instance() if widgets is not None else None
    if app is not None and app.styleSheet():
        app.setStyleSheet("")
        app.setPalette(app.style().standardPalette())


@pytest.fixture
def no_keeper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are written by the run itself, as where no process can be started.

    Starting one costs more than the rest of a short run. In a slow test it is started.
    """
    if request.node.get_closest_marker("slow") is not None:
        return
    from isoscope.core.tap import kept

    def none_to_be_had(*_: object, **__: object) -> None:
        raise kept.UnavailableError("tests do without")

    monkeypatch.setattr(kept, "KeptStream", none_to_be_had)


@pytest.fixture
def recordings() -> Path:
    """The folder of real recordings, each with a truth file."""
    return RECORDINGS


@pytest.fixture(scope="session")
def cartpole_20k(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The recording of 20,000 steps, unpacked (101 MB); removed in the end."""
    folder = tmp_path_factory.mktemp("cartpole_20k")
    path = folder / "cartpole_20k.h5"
    with (
        lzma.open(DATA / "cartpole_20k.h5.xz") as packed,
        path.open("wb") as unpacked,
    ):
        shutil.copyfileobj(packed, unpacked, 1 << 20)
    yield path
    shutil.rmtree(folder, ignore_errors=True)
