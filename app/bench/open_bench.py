"""How fast a recording is opened, against the plain loop with h5py.

The loop takes most of a minute on the recording that is measured by default, so it
runs twice; what it is compared with runs before, between and after. Every value that
the loop reads is compared with the index.
"""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from isoscope.app.bench import h5py_loop
from isoscope.app.bench.equal import equal
from isoscope.app.bench.peak import peak_anonymous
from isoscope.app.bench.slowfile import write_slow_file
from isoscope.core.bench import ratio
from isoscope.core.recording.superdex.reader import EventSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.core.recording.model import Recording

LOOPS = 5  # passes of the plain loop, some 45 s each
PER_GAP = 1  # rounds of ours before, between and after them
PEAKS = 3  # processes whose memory is watched
SLOW_EVENTS = 1500  # of the file that h5py has to read event by event
SLOW_ROUNDS = 5
CACHE = "ISOSCOPE_CACHE_DIR"

Columns: TypeAlias = "dict[tuple[str, str], list[Any]]"
Times: TypeAlias = "list[tuple[Any, Any, Any]]"
_load = cast("Callable[[str], tuple[Columns, Times]]", h5py_loop.load)


def run(file: Path) -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Parameters
    ----------
    file
        An event recording. Its plain reading has to fit into memory.

    Returns
    -------
    dict
        ``ratio_index``: the loop's time over ours; ``ratio_first_state``: the time
        from opening to the first step's state over the loop's; ``ratio_cached``: first
        over second opening of a file that h5py has to read; ``equal``: whether the
        index holds just what the loop reads; ``peak_anonymous_bytes`` (None where the
        system does not tell) and ``columns_bytes``; and the seconds of every side.

    Raises
    ------
    ReadError
        If the file can't be read.
    """
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        with _cache_in(Path(folder) / "cache"):
            figures = _against_the_loop(file)
            figures |= _from_the_cache(file, Path(folder))
            peaks = [peak_anonymous(file) for _ in range(PEAKS)]
    known = [peak for peak in peaks if peak is not None]
    figures["peak_anonymous_bytes"] = max(known) if len(known) == PEAKS else None
    return figures


def _against_the_loop(file: Path) -> dict[str, Any]:
    index_s: list[float] = []
    first_s: list[float] = []
    loop_s: list[float] = []
    _index(file), _first_state(file)  # a warm-up
    for number in range(LOOPS + 1):
        for _ in range(PER_GAP):
            first_s.append(_seconds(lambda: _first_state(file)))
            index_s.append(_seconds(lambda: _index(file)))
        if number < LOOPS:
            begun = time.perf_counter()
            columns, times = _load(str(file))
            loop_s.append(time.perf_counter() - begun)
            if number < LOOPS - 1:
                del columns, times
            gc.collect()
    source = _index(file)
    same = equal(source.recording, columns, times)
    loop, index = statistics.median(loop_s), statistics.median(index_s)
    first = statistics.median(first_s)
    return {
        "runs": len(index_s),
        "ratio_index": ratio(loop, index),
        "ratio_first_state": ratio(first, loop),
        "equal": same,
        "steps": len(source.recording),
        "slow_events": source.slow_events,
        "columns_bytes": source.recording.columns_bytes,
        "loop_s": loop,
        "loop_runs": len(loop_s),
        "index_s": index,
        "first_state_s": first,
    }


def _from_the_cache(file: Path, folder: Path) -> dict[str, Any]:
    slow = folder / "slow.h5"
    events = write_slow_file(file, slow, SLOW_EVENTS)
    cold_s, warm_s = [], []
    for number in range(SLOW_ROUNDS):
        with _cache_in(folder / f"cache-{number}"):
            cold_s.append(_seconds(lambda: _index(slow)))
            warm_s.append(_seconds(lambda: _index(slow)))
    cold, warm = statistics.median(cold_s), statistics.median(warm_s)
    return {
        "ratio_cached": ratio(cold, warm),
        "cached_events": events,
        "cached_first_s": cold,
        "cached_second_s": warm,
    }


def _index(file: Path) -> EventSource:
    """Open a file and index all of it."""
    source = EventSource(file)
    try:
        source.index()
    finally:
        source.close()
    return source


def _first_state(file: Path) -> Recording | None:
    """Open a file and read the first step's full state."""
    source = EventSource(file)
    try:
        return source.preview()
    finally:
        source.close()


def _seconds(run: Callable[[], object]) -> float:
    """How long it takes; garbage of what went before is none of its business."""
    gc.collect()
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


@contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    """Keep indexes in this folder meanwhile, away from the user's."""
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = before
