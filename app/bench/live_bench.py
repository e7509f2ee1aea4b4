"""Watches a demo: whether the simulator keeps its pace, and the window stays quick.

The demo's worker is first run without anybody watching. Then it is paced to 80 % of
that, with the window attached and drawing. Event-loop latencies of the window are
compared with those while the run is paused: the same window with nothing to do. What GL
paints does not count: the scene, and putting the window together that it is in.

Joining the run, laying the window out and the first pictures count on neither side:
each begins some seconds after the last change. Latency is asked for every 4 ms, so in
15 s the 99.9th percentile is the fourth worst of some 3,700: other things that the
machine does show in it.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QEventLoop, QTimer

from isoscope.app.bench.latency import Latency, Painting
from isoscope.app.commands.open import application
from isoscope.app.demo.live_settings import LiveDemo, to_line
from isoscope.app.display import check_display
from isoscope.app.settings import Settings
from isoscope.app.window import Window
from isoscope.app.workers import Workers
from isoscope.app.workspace import Workspace
from isoscope.core.errors import IsoscopeError
from isoscope.widgets.scene.view import SceneView
from isoscope.widgets.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.widgets.document import Document

PACE = 0.8
WARMUP_S, MEASURED_S = 4.0, 15.0
PATIENCE_S = 120.0


class BenchError(IsoscopeError):
    """A benchmark that can't be carried out here."""


def run(measured_s: float = MEASURED_S) -> dict[str, Any]:
    """Watch a demo; gives `runs` and the figures.

    ``ratio_producer`` is rounds a second achieved against paced, ``ratio_stall`` the
    99.9th percentile of the event loop's latency, live against paused. The ``…_with_``
    figures have putting the window together by GL counted in.

    Raises
    ------
    IsoscopeError
        If there is no display, or the demo can't be run.
    """
    check_display()
    app = application()
    demo = LiveDemo()
    headless = _headless(demo)
    control_hz = demo.settings.make_task().timing.control_hz
    paced_hz = PACE * headless["tapped"]
    demo = msgspec.structs.replace(
        demo, settings=replace(demo.settings), speed=paced_hz / control_hz
    )
    painting = Painting()
    window = Window(Workspace(Session(), Workers(), Settings(remember=False)), "dark")
    gc.collect()
    gc.freeze()  # as in the program
    try:
        window.show()
        return _measure(window, demo, paced_hz, headless, measured_s, painting)
    finally:
        gc.unfreeze()
        painting.remove()
        window.close()
        window.deleteLater()
        app.processEvents()


def _headless(demo: LiveDemo) -> dict[str, float]:
    """Rounds a second with nobody watching, with the tap and without."""
    ran = subprocess.run(
        [sys.executable, "-m", "isoscope.app.bench.live_side"],
        input=to_line(demo),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if ran.returncode:
        last = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise BenchError(f"running the demo headless: {' '.join(last)}")
    return msgspec.json.decode(ran.stdout, type=dict[str, float])


def _measure(
    window: Window,
    demo: LiveDemo,
    paced_hz: float,
    headless: dict[str, float],
    measured_s: float,
    painting: Painting,
) -> dict[str, Any]:
    arrived: list[Document] = []
    window.demo.start(demo, arrived.append)
    _until(lambda: bool(arrived) and arrived[0].rows > 0)
    document = arrived[0]
    source: Any = document.source
    view = window.panels["scene"].findChild(SceneView)
    if not isinstance(view, SceneView):
        raise BenchError("watching a demo: the scene can't be drawn here; see doctor")
    painting.watch(view)
    latency = Latency()
    _wait(WARMUP_S)
    painting.clear()
    before = dict(source.told)
    latency.begin()
    _wait(measured_s)
    latency.end()
    after = dict(source.told)
    drawn = len(painting.spent)
    live_s, live_with_s = _late(latency, painting)
    assert document.ask is not None, "it is live"
    document.ask("pause", {})
    _until(lambda: document.live is not None and document.live.state == "paused")
    _wait(WARMUP_S)
    painting.clear()
    latency.begin()
    _wait(measured_s)
    latency.end()
    idle_s, idle_with_s = _late(latency, painting)
    achieved = (after["rounds"] - before["rounds"]) / (after["at_s"] - before["at_s"])
    return {
        "runs": 1,
        "ratio_producer": achieved / paced_hz,
        "ratio_stall": live_s / idle_s,
        "headless_hz": headless["tapped"],
        "headless_untapped_hz": headless["bare"],
        "paced_hz": paced_hz,
        "achieved_hz": achieved,
        "live_p999_ms": live_s * 1e3,
        "idle_p999_ms": idle_s * 1e3,
        "live_p999_with_composing_ms": live_with_s * 1e3,
        "idle_p999_with_composing_ms": idle_with_s * 1e3,
        "pictures_per_s": drawn / measured_s,
        "native_steps_seen": document.rows,
        "records_dropped": 0 if document.live is None else document.live.lost,
    }


def _late(latency: Latency, painting: Painting) -> tuple[float, float]:
    """p99.9 without all that GL painted, and without the scene alone, [s]."""
    every = painting.spent + painting.composed
    return latency.p999_s(every), latency.p999_s(painting.spent)


def _wait(seconds: float) -> None:
    """Let the window work for so long."""
    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1000), loop.quit)
    loop.exec()


def _until(done: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Let the window work until something is so.

    Raises
    ------
    BenchError
        If it isn't after a long time.
    """
    loop, ticker, end = QEventLoop(), QTimer(), QTimer()
    late: list[bool] = []
    ticker.timeout.connect(lambda: loop.quit() if done() else None)
    end.setSingleShot(True)
    end.timeout.connect(lambda: late.append(True))
    end.timeout.connect(loop.quit)
    ticker.start(20)
    end.start(round(patience_s * 1000))
    loop.exec()
    ticker.stop()
    end.stop()
    if late:
        raise BenchError("watching a demo: it does not get going; see isoscope doctor")
