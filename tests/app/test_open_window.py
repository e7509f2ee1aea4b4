"""`open_window`: the whole program, with every real panel, and pictures of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from isoscope.app import display
from isoscope.app.commands.open import open_window, parse_size
from isoscope.app.display import DisplayError, check_display
from isoscope.app.screenshot import ScreenshotError, wait_settled
from isoscope.app.settings import Settings
from isoscope.core.errors import IsoscopeError, PositionError, ReadError, UsageError
from isoscope.widgets.theme import DARK, LIGHT
from tests.app.conftest import SHIPPED, our_threads


def colours(picture: QImage, left: float, top: float, right: float, bottom: float):
    """The colours in a part of the picture, given in shares of its sides."""
    xs = range(int(left * picture.width()), int(right * picture.width()), 4)
    ys = range(int(top * picture.height()), int(bottom * picture.height()), 4)
    return {picture.pixelColor(x, y).name() for x in xs for y in ys}


@pytest.mark.gl
@pytest.mark.parametrize(("theme", "tokens"), [("dark", DARK), ("light", LIGHT)])
def test_a_picture_shows_the_whole_window(recordings, tmp_path, theme, tokens):
    path = tmp_path / "window.png"
    path.write_bytes(b"an old one")
    code = open_window(
        [str(recordings / SHIPPED)],
        seek="native:60",
        layout="inspect",
        theme=theme,
        screenshot=path,
        size="1200x800",
    )
    assert code == 0
    picture = QImage(str(path))
    assert (picture.width(), picture.height()) == (1200, 800)
    assert tokens.panel in colours(picture, 0, 0, 1, 0.05)
    # Many shades of the bodies and of the background: OpenGL drew into it.
    scene = colours(picture, 0.2, 0.15, 0.68, 0.7)
    assert len(scene) > 40
    assert our_threads() == []
    assert list(tmp_path.glob(".*part")) == []
    assert Settings().values.recent == []  # a picture changes nothing of the user's


@pytest.mark.gl
def test_without_a_file_it_opens_the_shipped_recording(tmp_path):
    path = tmp_path / "window.png"
    assert open_window([], screenshot=path) == 0
    assert path.stat().st_size > 10_000


@pytest.mark.gl
@pytest.mark.parametrize(
    ("files", "seek", "said"),
    [
        (["killed.h5"], None, "killed.h5"),
        (["nowhere.h5"], None, "no such file"),
        (["no_state.h5"], "native:500", "native:500"),
        (["no_state.h5"], "control:1/1", "control:1/1"),
        (["isoscope:?file=x.h5&layout=sideways"], None, "sideways"),
    ],
)
def test_a_picture_of_what_is_not_there_is_not_taken(
    recordings, tmp_path, files, seek, said
):
    path = tmp_path / "window.png"
    names = [f if ":" in f else str(recordings / f) for f in files]
    with pytest.raises(IsoscopeError, match=said):
        open_window(names, seek=seek, screenshot=path)
    assert not path.exists()
    assert our_threads() == []


@pytest.mark.gl
def test_ctrl_c_closes_it(recordings, qapp, qtbot):
    QTimer.singleShot(600, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    assert open_window([str(recordings / SHIPPED)]) == 0
    assert signal.getsignal(signal.SIGINT) is before
    assert our_threads() == []
    assert Settings().values.recent == [str(recordings / SHIPPED)]
    assert not [w for w in QApplication.topLevelWidgets() if w.isVisible()]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"size": "big"}, UsageError),
        ({"size": "12x12"}, UsageError),
        ({"theme": "pink"}, UsageError),
        ({"layout": "sideways"}, UsageError),
        ({"seek": "twelve"}, PositionError),
        ({"screenshot": Path("/nowhere/at/all.png")}, IsoscopeError),
    ],
)
def test_wrong_arguments_are_refused_before_anything_opens(arguments, error):
    with pytest.raises(error):
        open_window([], **arguments)


def test_a_picture_does_not_replace_what_it_is_of(tmp_path, recordings):
    path = tmp_path / "run.h5"
    path.write_bytes((recordings / "no_state.h5").read_bytes())
    with pytest.raises(UsageError, match="source"):
        open_window([str(path)], screenshot=path)


def test_sizes():
    assert parse_size("1600x1000") == (1600, 1000)
    assert parse_size("800X600") == (800, 600)
    for wrong in ("", "x", "1600", "1600x", "-1x5", "99999999x800"):
        with pytest.raises(UsageError, match="size"):
            parse_size(wrong)


def test_what_does_not_settle_is_named(window, monkeypatch):
    panel = window.panels["signals"]
    monkeypatch.setattr(panel, "settled", lambda: False)
    with pytest.raises(
        ScreenshotError, match=r"after 0\.3 s still waiting for Signals"
    ):
        wait_settled(window, 0.3)


# -- no display ------------------------------------------------------------------------


@pytest.fixture
def x11(monkeypatch):
    for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return monkeypatch


def test_no_display_at_all_says_what_to_install(x11):
    with pytest.raises(DisplayError) as told:
        check_display()
    for name in ("xvfb", "libxcb-cursor0", "libxkbcommon-x11-0", "DISPLAY"):
        assert name in str(told.value)
    assert len(str(told.value).splitlines()) == 1


def test_missing_libraries_are_named_by_their_packages(x11):
    x11.setenv("DISPLAY", ":0")
    x11.setattr(display, "X11_LIBRARIES", {"libnowhere.so.7": "libnowhere7"})
    with pytest.raises(DisplayError, match="apt-get install libnowhere7"):
        check_display()


def test_a_display_that_does_not_answer_is_told(x11):
    x11.setattr(display, "X11_LIBRARIES", {})
    x11.setenv("DISPLAY", ":7777")
    with pytest.raises(DisplayError, match="DISPLAY=:7777"):
        check_display()


@pytest.mark.parametrize("platform", ["offscreen", "minimal", "wayland"])
def test_other_platforms_are_left_to_qt(x11, platform):
    x11.setenv("QT_QPA_PLATFORM", platform)
    check_display()


def test_the_errors_are_of_the_kind_that_is_told_in_one_line():
    assert issubclass(DisplayError, IsoscopeError)
    assert issubclass(ScreenshotError, IsoscopeError)
    assert ReadError.exit_status == 2
