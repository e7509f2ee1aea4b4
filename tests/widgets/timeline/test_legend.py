"""The legend says what occurs, and of a run that goes on also what occurred."""

from __future__ import annotations

import pytest

from isoscope.core.analysis import Analyser
from isoscope.core.recording.registry import load
from isoscope.core.timeline.chunks import ChunkLook
from isoscope.core.timeline.extras import extras_of
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.pieces import Shape
from isoscope.widgets.timeline.legend import kept, legend

FLUSHED, JOINED = (ChunkLook.FLUSHED, "flushed"), (ChunkLook.JOINED, "joined")
USUAL, DONE = ("usual", "h 0.02 s"), (Shape.DONE, "terminated")


def test_what_occurred_stays_and_what_is_new_comes_in_its_place() -> None:
    assert kept([], [FLUSHED, USUAL]) == [FLUSHED, USUAL]
    assert kept([FLUSHED, USUAL], [FLUSHED, JOINED, USUAL, DONE]) == [
        FLUSHED,
        JOINED,
        USUAL,
        DONE,
    ]
    assert kept([FLUSHED, JOINED, USUAL, DONE], [JOINED, USUAL]) == [
        FLUSHED,
        JOINED,
        USUAL,
        DONE,
    ]


def test_a_shape_is_no_chunks_look_of_the_same_number() -> None:
    shape = next(s for s in Shape if s == ChunkLook.JOINED)
    assert kept([JOINED], [JOINED, (shape, "a mark")]) == [JOINED, (shape, "a mark")]


def test_words_that_are_others_by_now_are_said() -> None:
    now = ("usual", "h 0.01 s")
    assert kept([FLUSHED, USUAL, DONE], [now]) == [FLUSHED, now, DONE]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shared_cartpole_2env", ["control step", "waiting"]),
        # One environment never waits for its turn.
        ("rigid_contacts_all", ["no control step known"]),
        ("create_destroy", ["no control step known", "actor exists"]),
    ],
)
def test_only_what_occurs_is_said(recordings, name: str, said: list[str]) -> None:
    recording = load(recordings / f"{name}.h5")
    timeline = timeline_of(recording, extras_of(Analyser(recording).run()))
    found = [text for _, text in legend(timeline)]
    assert found[: len(said)] == said
    assert found[len(said)].startswith("h ")
