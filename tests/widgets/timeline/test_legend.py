"""The legend of a run that goes on keeps what occurred, each in its place."""

from __future__ import annotations

from isoscope.core.timeline.chunks import ChunkLook
from isoscope.core.timeline.pieces import Shape
from isoscope.widgets.timeline.legend import kept

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
