"""The recorded runs in pipeline mode, all of them.

Everything is equal but this: what fails in RLinf once an epoch is complete is refused
when the collector is set up, or with the chunk that can't be used.
"""

from __future__ import annotations

import pytest

from isoscope.core.trajectory.errors import (
    TrajectoryAssertionError,
    TrajectoryKeyError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from tests.core.trajectory.recorded_runs import Story, check, overwriting, raises
from tests.golden import DATA, OURS, Case, cases_of

CASES = cases_of("collector_pipeline")
# What our own type is for each error of RLinf's, with what the message must name.
REFUSED = {
    "gae_nested_inputs": (TrajectoryTypeError, "forward_inputs"),  # section 9, 13
    "grpo_auto_reset": (TrajectoryValueError, "loss mask"),  # H8
    "grpo_group_across_actors": (TrajectoryValueError, "group_size"),  # H17
    "filter_action_level_auto_reset": (TrajectoryValueError, "filter_rewards"),  # H7
    "filter_action_level_not_normalised": (TrajectoryValueError, "filter_rewards"),
    "micro_batch_does_not_fit": (TrajectoryValueError, "micro_batch_size"),  # error 47
    "no_prev_infos_gae": (TrajectoryKeyError, "collect_prev_infos"),  # error 48
    "unknown_advantage": (TrajectoryValueError, "gae, grpo, grpo_video, raw"),  # 54
    "envs_not_divisible_by_actors": (TrajectoryAssertionError, "multiple"),  # error 49
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded(case: Case) -> None:
    error = check(case, overwriting(case))
    if raises(case):
        assert error is not None
    if case.name in REFUSED:
        kind, names = REFUSED[case.name]
        assert type(error) is kind
        assert names in str(error)


def test_differences_are_these() -> None:
    assert not any(Story(case).differences() for case in CASES) or DATA != OURS
    known = {case.name for case in CASES if raises(case)}
    assert set(REFUSED) <= known or DATA != OURS
