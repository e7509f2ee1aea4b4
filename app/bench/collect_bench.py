"""How fast and how lean chunks become trajectories, against stacking them plainly."""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from isoscope.app.bench import collect_load as load
from isoscope.app.bench.collect_heap import keep_freed
from isoscope.app.bench.collect_memory import peak_and_output
from isoscope.core.bench import Samples, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isoscope.core.trajectory.collector import TrajectoryCollector

ROUNDS = 201
PENDING_ROUNDS = 101
WARMUP = 3
SIDES = 2  # that collect
TIMES = WARMUP + ROUNDS
FEW, MANY = 10, 10_000
FIRST_PENDING = 1_000_000  # steps of the chunks that stay incomplete
EVERY_S = 0.02  # as a window that draws fifty times a second


def run() -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Returns
    -------
    dict
        ``ratio_time``: joining, accumulating and materialising a trajectory, and
        reading it, over stacking and reading the same tensors, round by round, as are
        the other ratios of time. ``ratio_memory``: the
        most memory that the chunks and the trajectory took, over the trajectory's
        (None where the system does not tell). ``ratio_pending``: the time to take a
        chunk with 10,000 others pending, over that with 10. ``ratio_observe``: the
        first with its events read by a consumer, over without. And what they are of.
    """
    keep_freed()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        chunks = load.make_chunks()
        figures = _against_stacking(chunks)
        figures |= _pending(chunks)
    finally:
        torch.set_num_threads(threads)
    memory = peak_and_output()
    peak, output = memory if memory is not None else (None, None)
    figures["ratio_memory"] = ratio(peak, output)
    figures |= {"peak_bytes": peak, "output_bytes": output}
    return figures


def _against_stacking(chunks: list[load.Chunk]) -> dict[str, Any]:
    quiet, heard = load.collector(), load.collector()
    # made beforehand: that is the producer's work
    coming = iter([load.halves_of(chunks, step) for step in range(SIDES * TIMES)])
    listener = heard.events.listen()
    stop = threading.Event()
    events = 0

    def listen() -> None:
        nonlocal events
        while not stop.wait(EVERY_S):
            events += len(listener.take())

    def stack() -> None:
        load.read(load.stack_all(chunks))

    def collect(into: TrajectoryCollector) -> None:
        trajectory = load.collect_all(into, next(coming))
        load.read(list(load.tensors_of(trajectory)))

    consumer = threading.Thread(target=listen, daemon=True)
    consumer.start()
    try:
        samples = _in_turn(
            {
                "stack": stack,
                "collect": partial(collect, quiet),
                "observed": partial(collect, heard),
            },
            ROUNDS,
        )
    finally:
        stop.set()
        consumer.join()
    events += len(listener.take())  # what came since it last looked
    stacked, collected = samples["stack"], samples["collect"]
    return {
        "runs": ROUNDS,
        "ratio_time": _by_round(collected, stacked),
        "ratio_observe": _by_round(samples["observed"], collected),
        "collect_s": collected.median_s,
        "stack_s": stacked.median_s,
        "observed_s": samples["observed"].median_s,
        "events": events,
    }


def _in_turn(
    sides: Mapping[str, Callable[[], float | None]], rounds: int
) -> dict[str, Samples]:
    """Time the sides in every round, in all orders in turn.

    What one leaves of caches and memory, the next one meets: an order, or one that only
    begins elsewhere, favours one. A side that gives seconds says itself how long it
    took.
    """
    samples = {name: Samples() for name in sides}
    orders = list(itertools.permutations(sides))
    for number in range(-WARMUP, rounds):
        for name in orders[number % len(orders)]:
            begun = time.perf_counter()
            took = sides[name]()
            if took is None:
                took = time.perf_counter() - begun
            if number >= 0:
                samples[name].seconds.append(took)
    return samples


def _by_round(over: Samples, under: Samples) -> float:
    """One side over the other in the same round; the median of all rounds.

    Whatever else the machine does comes and goes in the course of a run. In one round
    it is much the same for both.
    """
    pairs = zip(over.seconds, under.seconds, strict=True)
    return statistics.median(above / below for above, below in pairs)


def _pending(chunks: list[load.Chunk]) -> dict[str, Any]:
    """Take chunks while others wait; what lets a scope go out is not timed."""
    steps = itertools.count()
    sides = {
        "few": _with_pending(chunks[0], FEW),
        "many": _with_pending(chunks[0], MANY),
    }
    timed: dict[str, Callable[[], float]] = {
        name: partial(_taking, into, chunks, steps) for name, into in sides.items()
    }
    samples = _in_turn(timed, PENDING_ROUNDS)
    few, many = samples["few"], samples["many"]
    each = load.CHUNKS - 1
    return {
        "ratio_pending": _by_round(many, few),
        "chunk_with_10_s": few.median_s / each,
        "chunk_with_10000_s": many.median_s / each,
    }


def _with_pending(chunk: load.Chunk, count: int) -> TrajectoryCollector:
    """A collector in which so many policy halves wait."""
    into = load.collector()
    for number in range(count):
        policy, _ = chunk.parts(load.key_of(FIRST_PENDING + number, 1))
        for _ in into.collect(policy, None):
            raise RuntimeError("half a chunk came out")
    return into


def _taking(
    into: TrajectoryCollector, chunks: list[load.Chunk], steps: Iterator[int]
) -> float:
    """How long it takes to take all chunks of a step but the last."""
    halves = load.halves_of(chunks, next(steps))
    begun = time.perf_counter()
    for part in halves[:-2]:
        into.collect(part, None)
    took = time.perf_counter() - begun
    for part in halves[-2:]:
        into.collect(part, None)
    return took
