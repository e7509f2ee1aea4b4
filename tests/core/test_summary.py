from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.recording.model import Actor, Problem, Recording
from isoscope.core.recording.registry import load
from isoscope.core.summary import (
    counted,
    duration,
    listed,
    problem_counts,
    summarize,
)

if TYPE_CHECKING:
    from pathlib import Path

BARE = "; a bare recording: no labels, seeds or actions."


def actor(index, name, type="Rigid", static=False):
    return Actor(index, index, name, type, static, 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "shared_cartpole_2env.h5",
            "125 native steps over 2.4 s of CartPole: "
            "1 articulated and 2 rigid actors, float32",
        ),
        (
            "fp64_rigid_contacts_all.h5",
            "80 native steps over 1.6 s of Crate and BallA: "
            "2 rigid actors and 1 static, float64",
        ),
        (
            "soft_body.h5",
            "40 native steps over 0.4 s of Jelly: 1 soft actor and 1 static, float32",
        ),
        (
            "variable_steps.h5",
            "9 native steps over 0.135 s of Crate and BallA: "
            "2 rigid actors and 1 static, float32",
        ),
    ],
)
def test_what_real_recordings_are(recordings: Path, name: str, said: str):
    assert summarize(load(recordings / name)) == said + BARE


def test_nothing_is_claimed_that_is_not_there():
    assert summarize(Recording(None, "")) == f"0 native steps: no actors{BARE}"


def test_an_unknown_h_leaves_the_duration_out():
    recording = Recording(None, "")
    nan = np.array([np.nan])
    recording.steps.append(np.array([0]), nan, nan, np.full((1, 3), np.nan))
    assert summarize(recording).startswith("1 native step: no actors")


def test_many_bodies_are_counted_and_not_named():
    recording = Recording(None, "")
    recording.actors += [actor(i, f"Ball{i}") for i in range(40)]
    assert summarize(recording) == f"0 native steps: 40 rigid actors{BARE}"


def test_links_do_not_name_the_subject():
    recording = Recording(None, "")
    recording.actors += [
        actor(0, "Arm", "Articulated"),
        actor(1, "Arm/Hand"),
        actor(2, "Table", static=True),
    ]
    assert " of Arm: " in summarize(recording)


def test_only_static_actors():
    recording = Recording(None, "")
    recording.actors.append(actor(0, "Ground", static=True))
    assert "1 static actor" in summarize(recording)


def test_problems_are_counted_place_by_place():
    recording = Recording(None, "")
    recording.problems += [
        Problem("can't be read", "/events/1", 3, "error"),
        Problem("odd", "/events/2", 2),
    ]
    assert problem_counts(recording) == (3, 2)


def test_words():
    assert counted(1, "step") == "1 step"
    assert counted(20000, "step") == "20,000 steps"
    assert [listed(["a", "b", "c"][:n]) for n in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [duration(s) for s in (0.135, 2.40005, 399.98, 12345.6)] == [
        "0.135 s",
        "2.4 s",
        "400 s",
        "12,346 s",
    ]
