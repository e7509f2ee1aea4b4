"""``isoscope open``: the window, or a picture of it."""

from __future__ import annotations

import gc
import signal
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoscope.app.display import check_display
from isoscope.core.errors import UsageError
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.positions import parse_position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from PySide6.QtWidgets import QApplication

    from isoscope.app.demo.live_settings import LiveDemo
    from isoscope.app.settings import PauseOn, ThemeChoice
    from isoscope.app.window import Window
    from isoscope.widgets.replay.request import Way
    from isoscope.widgets.session import Document, Message

LIVE_LAYOUT, REPLAY_LAYOUT = "live", "replay"
WATCH_S = 6.0  # a run before its picture is taken
STEP_S = 1800.0  # for a recording to be stepped again before its picture
JOIN_S = 120.0  # for a demo to begin
FIRST_S = 30.0  # for a run to take a step, or say what it took
SMALLEST, LARGEST = 200, 16384  # pixels of a window's side


def open_window(
    files: Sequence[str],
    seek: str | None = None,
    layout: str | None = None,
    theme: str | None = None,
    screenshot: Path | None = None,
    size: str | None = None,
    attach: tuple[str, str, str] | None = None,
    demo: LiveDemo | None = None,
    seconds: float | None = None,
    replay: str | None = None,
    pause_on: PauseOn | None = None,
) -> int:
    """Open the window and stay until it is closed; returns the exit status.

    Parameters
    ----------
    files
        Recordings, or links that begin with ``isoscope:``; without any, the shipped
        recording.
    seek
        A position in the last one.
    layout, theme
        By name; those of the last time by default.
    screenshot
        Where to save a picture of the window once everything is drawn; then the window
        is closed again. An existing file is replaced.
    size
        Of the window: ``"1600x1000"``.
    attach
        Address, token and key of a run to watch, instead of files.
    demo
        A demo to start, instead of files.
    seconds
        How long a run is watched that was started or joined: then the picture is taken
        and the window is closed; None with a picture: a few seconds.
    replay
        Steps the last file again, in this way: ``"actions"``, ``"alone"``,
        ``"pinned"`` or ``"twice"``; and goes to the first divergence, unless `seek`
        says where.
    pause_on
        From which finding on a watched run is paused; the settings' by default.

    Raises
    ------
    IsoscopeError
        If it can't be opened: no display, a missing package, arguments that name
        nothing; with `screenshot` also if a file can't be read or the picture not
        written.
    """
    pixels = parse_size(size) if size else None
    if seek:
        parse_position(seek)
    if screenshot is not None:
        refuse_bad_target(screenshot, overwrite=True, sources=files)
    choice = _theme(theme)
    _check_layout(layout)
    way = None if replay is None else _way(replay)
    check_display()
    return _run(
        files,
        seek or "",
        layout,
        choice,
        screenshot,
        pixels,
        attach,
        demo,
        seconds,
        way,
        pause_on,
    )


def parse_size(text: str) -> tuple[int, int]:
    """Read ``"1600x1000"``.

    Raises
    ------
    UsageError
        If it is none, or no size that a window can have.
    """
    width, cross, height = text.lower().partition("x")
    if not (cross and width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size {text}: a size is written WIDTHxHEIGHT: 1600x1000")
    size = int(width[:6]), int(height[:6])
    if not all(SMALLEST <= side <= LARGEST for side in size):
        raise UsageError(
            f"--size {text}: each side from {SMALLEST} to {LARGEST} pixels"
        )
    return size


def _theme(name: str | None) -> ThemeChoice | None:
    from isoscope.app.settings import THEME_CHOICES, theme_choice

    choice = theme_choice(name) if name is not None else None
    if name is not None and choice is None:
        raise UsageError(f"--theme {name}: there is {', '.join(THEME_CHOICES)}")
    return choice


def _way(name: str) -> Way:
    from isoscope.widgets.replay.request import WAYS

    way = next((way for way in WAYS if way == name), None)
    if way is None:
        raise UsageError(f"--replay {name}: there is {', '.join(WAYS)}")
    return way


def _check_layout(key: str | None) -> None:
    from isoscope.app.window.layouts import LAYOUTS

    if key is not None and key not in LAYOUTS:
        raise UsageError(f"--layout {key}: there is {', '.join(LAYOUTS)}")


def _run(
    files: Sequence[str],
    seek: str,
    layout: str | None,
    theme: ThemeChoice | None,
    screenshot: Path | None,
    size: tuple[int, int] | None,
    attach: tuple[str, str, str] | None = None,
    demo: LiveDemo | None = None,
    seconds: float | None = None,
    way: Way | None = None,
    pause_on: PauseOn | None = None,
) -> int:
    from isoscope import resources
    from isoscope.app.crashes import CrashNet
    from isoscope.app.screenshot import save_png
    from isoscope.app.settings import Settings
    from isoscope.app.window import Window
    from isoscope.app.workers import Workers
    from isoscope.app.workspace import Workspace
    from isoscope.widgets.session import Session

    app = application()
    session = Session()
    # A picture looks the same whatever this user has set, and changes none of it.
    settings = Settings(remember=screenshot is None)
    net = CrashNet(session)
    net.install()
    errors: list[str] = []

    def listen(message: Message) -> None:
        if message.level == "error":
            errors.append(message.text)

    session.messaged.connect(listen)
    workspace = Workspace(session, Workers(), settings)
    if pause_on is not None:
        workspace.pausing.choose(pause_on, remember=False)
    window = Window(workspace, theme)
    # What lives as long as the program needn't be looked at by each collection.
    gc.collect()
    gc.freeze()
    try:
        pictured = screenshot is not None or seconds is not None
        if layout is None and attach is not None and pictured:
            layout = LIVE_LAYOUT
        if layout is not None or way is not None:
            window.set_layout(layout or REPLAY_LAYOUT)
        if size is not None:
            window.resize(*size)
        if demo is not None:
            window.demo.start(demo, layout=layout or LIVE_LAYOUT)
        elif attach is not None:
            window.attach.join(*attach)
        else:
            names = list(files) or [str(resources.shipped_recording())]
            then = None if way is None else _stepping(window, way, go=not seek)
            window.open_files(names[:-1])
            window.open_files(names[-1:], at=seek, then=then)
        with _interruptible(window):
            if pictured and (demo is not None or attach is not None):
                patience_s = FIRST_S if demo is None else JOIN_S
                watched_s = WATCH_S if seconds is None else seconds
                _watch(window, watched_s, errors, patience_s)
                if screenshot is not None:
                    save_png(window, screenshot, overwrite=True)
                return 0
            if screenshot is None:
                window.show()
                return app.exec()
            _take_picture(window, screenshot, errors, stepping=way is not None)
            return 0
    finally:
        gc.unfreeze()
        window.close()
        net.remove()
        window.deleteLater()
        app.processEvents()


def _stepping(window: Window, way: Way, *, go: bool) -> Callable[[Document], None]:
    """What steps a document again once it is there."""
    from isoscope.app.window.replays import step_when_ready

    return lambda document: step_when_ready(window, document, way, go=go)


def application() -> QApplication:
    """The one application of this process, made if there is none."""
    from PySide6.QtCore import QCoreApplication, Qt
    from PySide6.QtWidgets import QApplication

    # A surface may move between windows and keep what OpenGL holds for it.
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(["isoscope"])
    app.setApplicationName("Isoscope")
    app.setDesktopFileName("isoscope")
    app.setStyle("Fusion")
    return app


def _take_picture(
    window: Window, path: Path, errors: list[str], *, stepping: bool = False
) -> None:
    """Wait until all is drawn and save it; not if there is an error in the bar.

    `stepping` again takes as long as a recording is long.
    """
    from isoscope.app.screenshot import (
        TIMEOUT_S,
        ScreenshotError,
        save_png,
        wait_settled,
    )

    window.show()
    wait_settled(window, STEP_S if stepping else TIMEOUT_S)
    if errors:
        raise ScreenshotError(errors[0])
    save_png(window, path, overwrite=True)


def _watch(
    window: Window, seconds: float, errors: list[str], patience_s: float
) -> None:
    """Show a run until it has been watched so long, or the window was closed."""
    from PySide6.QtCore import QEventLoop, QTimer

    from isoscope.app.screenshot import ScreenshotError

    begun = time.monotonic()
    seen: float | None = None
    loop, ticker = QEventLoop(), QTimer()

    def look() -> None:
        nonlocal seen
        now, document = time.monotonic(), window.session.active
        if seen is None and document is not None and document.rows:
            seen = now
        late = seen is None and now - begun > patience_s
        over = seen is not None and now - seen >= seconds
        if over or late or errors or not window.isVisible():
            loop.quit()

    ticker.timeout.connect(look)
    ticker.start(50)
    window.show()
    loop.exec()
    ticker.stop()
    if errors:
        raise ScreenshotError(errors[0])
    if seen is None:
        raise ScreenshotError(
            f"watching a run: no step of it came within {patience_s:g} s; "
            "perhaps it is paused, or has not begun"
        )


@contextmanager
def _interruptible(window: Window) -> Iterator[None]:
    """Let Ctrl+C in the terminal, and a polite kill, close the window.

    Python hears a signal only between its own instructions, and in Qt's event loop
    there are none; so the signal's wake-up byte is read by Qt.
    """
    from PySide6.QtCore import QSocketNotifier

    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read)
    notifier.activated.connect(lambda: reader.recv(64))
    before = {
        number: signal.signal(number, lambda *_: window.close())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    woken = signal.set_wakeup_fd(writer.fileno())
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        notifier.setEnabled(False)
        reader.close()
        writer.close()
