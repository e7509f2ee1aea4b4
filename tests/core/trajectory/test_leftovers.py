"""A chunk that is stored leaves nothing behind."""

from __future__ import annotations

from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, key, policy


def test_fragments_of_a_half_that_also_came_whole_do_not_stay() -> None:
    made = runs.collector(config(envs=2))
    made.collect(policy(key(), 1, 0), None)  # one row of it
    made.collect(policy(key(), 2), None)  # and then all of it
    (_,) = made.collect(env(key(), 2), None)
    made.collect(policy(key(), 1, 1), None)  # a repetition, ignored
    assert not made.pending()
