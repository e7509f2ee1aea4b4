"""A recurrent policy's state that outlives an episode, or advances in a reset's row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.row_keys import row_keys
from isoscope.core.isolation.words import env_named, place_text
from isoscope.core.recording.tracks import Track
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

ID = "hidden-state-not-reset"
SEVERITY: Severity = "warning"
ABOUT = "a policy's hidden state that is not begun anew with each episode"
WORDS = ("hidden", "recurrent", "rnn", "carry")
GROUPS = ("policy_state", "task_state", "info")
NEEDS = (
    "the hidden state that the policy acted with, as a field of transitions whose name "
    "has `hidden`, `recurrent`, `rnn` or `carry` in it"
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment and field."""
    window = context.tells(NEEDS)
    table = window.transitions
    tracks = {
        f"{group}.{name}": track
        for group in GROUPS
        for name, track in window.fields(group).items()
        if any(word in name.lower() for word in WORDS) and isinstance(track, Track)
    }
    if not tracks or not len(table):
        raise CannotRunError("no hidden state is recorded", NEEDS)
    for name, track in tracks.items():
        read = track.read(table.first, table.stop)
        flat = read.values.reshape(len(table), -1)
        yield from _of_field(window, name, flat, np.asarray(read.valid))


def _of_field(
    window: LabelledContext, name: str, values: Array, valid: Array
) -> Iterator[Finding]:
    table = window.transitions
    key = row_keys(values)
    zero = (values == 0).all(axis=1)
    for env in table.environments:
        own = table.of(env)
        acted = own[(table.valid[own] != 0) & valid[own]]
        if not len(acted):
            continue
        episode = table.episode[acted]
        begins = acted[np.concatenate([[True], np.diff(episode) != 0])]
        initial = key[begins[0]]
        # What the first episode begins with, or nothing but zeros, is an initial one.
        wrong = begins[(key[begins] != initial) & ~zero[begins]]
        if len(wrong):
            yield _finding(window, env, name, wrong, len(begins), key, initial)


def _finding(
    window: LabelledContext,
    env: int,
    name: str,
    wrong: Array,
    episodes: int,
    key: Array,
    initial: int,
) -> Finding:
    table, t = window.transitions, int(wrong[0])
    own = table.of(env)
    before = own[own < t]
    # The row before it only resets, and it was still the initial one there.
    slot = bool(len(before)) and table.valid[before[-1]] == 0
    advanced = bool(slot and key[before[-1]] == initial)
    episode = int(table.episode[t]) if table.episode[t] >= 0 else None
    k = int(table.control_step[t]) if table.control_step[t] >= 0 else None
    row = int(table.first_row[t])
    how = "advanced in a row that only resets" if advanced else "was not begun anew"
    headline = f"the hidden state of {env_named(env)} {how} at {_place(episode, k, t)}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=k,
        native=(row, row) if row >= 0 else None,
        field=name,
        headline=headline,
        message=(
            f"{headline}: so in {counted(len(wrong), 'episode')} of {episodes}, the "
            "policy acts on what it remembers of another one"
        ),
        remedy=(
            "Put the initial state back where the environment was reset, after the row "
            "that only resets: its action was ignored, so its new state is too."
        ),
        evidence={"episodes": len(wrong), "of": episodes, "advanced": advanced},
        transition=t,
        taints=tuple(Taint(env=env, transition=(int(n), None)) for n in wrong[:1000]),
    )


def _place(episode: int | None, control_step: int | None, transition: int) -> str:
    return place_text(episode, control_step) or f"transition {transition}"
