from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.core.recording.model import Recording
from isoscope.core.recording.registry import load
from isoscope.widgets.session import FieldRef
from isoscope.widgets.signals.defaults import default_plots, label_of, suggestions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("shared_cartpole_2env", ["CartPole · pose"]),
        (
            "rigid_contacts_all",
            ["Crate · translationCom y", "Crate · contacts_distance count"],
        ),
        (
            "soft_body",
            ["Jelly · pivotEvalTranslation y", "Jelly · contacts_distance count"],
        ),
        ("create_destroy", ["Crate · translationCom y"]),
        ("no_state", []),
    ],
)
def test_what_is_plotted_at_first(
    recordings: Path, name: str, labels: list[str]
) -> None:
    recording = load(recordings / f"{name}.h5")
    assert [label_of(recording, ref) for ref in default_plots(recording)] == labels


def test_suggestions_are_different_and_not_plotted_yet(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_2env.h5")
    first = suggestions(recording, [])
    assert first[0].label == "Pole · omega z"
    assert len({s.ref for s in first}) == len(first) == 3
    then = suggestions(recording, [s.ref for s in first])
    assert not {s.ref for s in then} & {s.ref for s in first}


def test_where_nothing_moves_the_step_itself_is_suggested(recordings: Path) -> None:
    recording = load(recordings / "no_state.h5")
    refs = [s.ref for s in suggestions(recording, [])]
    assert refs[0] == FieldRef(None, "timeStep")
    assert suggestions(Recording(None, "empty"), []) == []
    assert default_plots(Recording(None, "empty")) == []
