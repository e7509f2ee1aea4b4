"""The sentence on top, for every recording there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.core.analysis import Analyser
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.places import row_of
from isoscope.core.isolation.registry import CHECKS
from isoscope.core.isolation.sentence import change_text, sentence_of
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

# What a recording without labels can't show is most of what there is.
QUIET = f" No findings: 12 checks ran, {len(CHECKS) - 12} could not."
SHARED = "2 environments in one scene, {} episodes, 2 substeps per control step."


def said(path: Path, *, audit: bool = True) -> str:
    recording = load(path)
    found = Analyser(recording).run(complete=audit)
    parts = sentence_of(recording, found.attribution, found.audit)
    return "".join(f"*{text}*" if strong else text for text, strong in parts)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("shared_cartpole_2env", SHARED.format(5) + QUIET),
        ("shared_cartpole_short_episodes", SHARED.format(10) + QUIET),
        (
            "shared_cartpole_missed_restore",
            SHARED.format(6) + "* 1 error:* env 0 went on from env 1's state at "
            "episode 1, control step 9.",
        ),
        (
            "shared_cartpole_leak_gravity",
            SHARED.format(5) + "* 1 error:* gravity changed before env 1's turn at "
            "episode 2, control step 6, and reached env 0.",
        ),
        (
            "independent_cartpole_env0",
            "1 environment alone in its scene, 2 episodes; how many substeps a control "
            "step has is unknown." + QUIET,
        ),
        (
            "rigid_contacts_all",
            "One environment, one continuous run of 80 native steps over 1.6 s."
            + QUIET,
        ),
        (
            "no_state",
            "5 native steps of unknown environments (no step tells where it began). "
            f"No findings: 9 checks ran, {len(CHECKS) - 9} could not.",
        ),
    ],
)
def test_it_says_what_it_is_and_what_is_wrong(
    recordings: Path, name: str, sentence: str
) -> None:
    assert said(recordings / f"{name}.h5") == sentence


def test_several_are_counted_and_the_worst_is_told(recordings: Path) -> None:
    text = said(recordings / "restore_twice.h5")
    assert "* 2 notes, the first:* the state that the recording began from" in text


def test_before_the_audit_it_says_only_what_it_is(recordings: Path) -> None:
    text = said(recordings / "shared_cartpole_missed_restore.h5", audit=False)
    assert text == SHARED.format(6)


def change(**more: object) -> Finding:
    rest = {"headline": "changed", "message": "changed", "remedy": ""}
    return Finding(id="config-changed", severity="error", **rest, **more)


def test_a_change_names_the_one_axis_that_differs() -> None:
    one = change(field="gravity", expected=[0.0, -9.8, 0.0], value=[0.0, -3.0, 0.0])
    assert change_text(one) == "gravity y -9.8 to -3 m/s²"
    assert change_text(one, " → ") == "gravity y -9.8 → -3 m/s²"
    two = change(field="gravity", expected=[1.0, 2.0, 3.0], value=[1.0, 0.0, 0.0])
    assert change_text(two) == "gravity (1, 2, 3) to (1, 0, 0) m/s²"


def test_a_change_is_looked_at_in_the_first_step_under_it() -> None:
    assert row_of(change(native=(65, 66))) == 66
    assert row_of(change()) is None
    rewind = Finding(
        id="rewind",
        severity="note",
        headline="",
        message="",
        remedy="",
        native=(15, 15),
    )
    assert row_of(rewind) == 15
