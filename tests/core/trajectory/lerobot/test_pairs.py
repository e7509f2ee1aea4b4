"""The default: frame t holds the observation that action t answered (H10 to H12, H21).

States tell where an observation is from: s is what the policy saw before step s of its
environment, so a rightly paired frame has state s and action s.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.trajectory.errors import (
    TrajectoryIndexError,
    TrajectoryKeyError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.lerobot import (
    LeRobotEpisodeAccumulator,
    LeRobotOptions,
    Pairing,
)
from isoscope.core.trajectory.lerobot.options import Frameless
from isoscope.core.trajectory.policy import PolicyOutput

if TYPE_CHECKING:
    from collections.abc import Sequence


def observation(*states: float) -> dict[str, Any]:
    return {
        "states": torch.tensor(states).reshape(-1, 1),
        "task_descriptions": [f"task {env}" for env in range(len(states))],
    }


def chunk(
    after: list[dict[str, Any]],
    actions: list[list[float]],
    before: dict[str, Any] | None = None,
    terminated: Sequence[tuple[int, int]] = (),
    truncated: Sequence[tuple[int, int]] = (),
    infos: list[Any] | None = None,
    expert: list[list[float]] | None = None,
    flags: list[list[bool]] | None = None,
    mask: list[list[bool]] | None = None,
) -> dict[str, Any]:
    """A chunk of B environments and C slots; ends are (environment, slot)."""
    ends = [torch.zeros(len(actions), len(after), dtype=torch.bool) for _ in range(2)]
    for flag, places in zip(ends, (terminated, truncated), strict=True):
        for env, slot in places:
            flag[env, slot] = True
    output = None
    if expert is not None:
        output = PolicyOutput(
            forward_inputs={"action": torch.tensor(expert)},
            intervene_flags=torch.tensor(flags),
        )
    return {
        "policy_output": output,
        "obs": before,
        "chunk_actions": torch.tensor(actions).unsqueeze(-1),
        "obs_list": after,
        "terminations": ends[0],
        "truncations": ends[1],
        "infos_list": infos or [{} for _ in after],
        "valid_action_mask": None if mask is None else torch.tensor(mask),
    }


def accumulator(
    envs: int = 1, slots: int = 2, **given: Any
) -> LeRobotEpisodeAccumulator:
    return LeRobotEpisodeAccumulator(
        num_envs=envs, num_action_chunks=slots, action_dim=1, **given
    )


def recorded(episode: list[dict[str, Any]], key: str) -> list[Any]:
    return [frame[key].tolist()[0] for frame in episode]


def test_h10_every_frame_holds_the_observation_its_action_answered() -> None:
    made = accumulator()
    made.append(
        **chunk([observation(1), observation(2)], [[0.0, 1.0]], observation(0.0))
    )
    # The chunk begins where the one before ended.
    made.append(
        **chunk(
            [observation(3), observation(4)],
            [[2.0, 3.0]],
            observation(2.0),
            terminated=[(0, 1)],
        )
    )
    (episode,) = made.drain()
    assert recorded(episode, "state") == [0, 1, 2, 3]
    assert recorded(episode, "actions") == [0, 1, 2, 3]
    assert recorded(episode, "done") == [False, False, False, True]


def test_h10_after_an_automatic_reset_the_new_observation_is_paired() -> None:
    made = accumulator(slots=3)
    info = {"final_observation": observation(99.0), "final_info": {"success": [True]}}
    made.append(
        **chunk(
            # Slot 0 ends the episode; 100 is the reset's observation.
            [observation(100), observation(101), observation(102)],
            [[0.0, 100.0, 101.0]],
            observation(0.0),
            terminated=[(0, 0), (0, 2)],
            infos=[info, {}, {}],
        )
    )
    first, second = made.drain()
    assert recorded(first, "state") == [0]
    assert recorded(first, "is_success") == [True]
    assert recorded(second, "state") == [100, 101]
    assert recorded(second, "actions") == [100, 101]
    assert recorded(second, "is_success") == [False, False]


def test_h10_legacy_skips_the_second_observation() -> None:
    made = accumulator(slots=3, options=LeRobotOptions(pairing=Pairing.LEGACY))
    made.append(
        **chunk(
            [observation(1), observation(2), observation(3)],
            [[0.0, 1.0, 2.0]],
            terminated=[(0, 2)],
        )
    )
    assert recorded(made.drain()[0], "state") == [1, 2, 3]


def test_pairs_need_to_know_what_the_policy_saw_first() -> None:
    made = accumulator()
    with pytest.raises(TrajectoryValueError, match="legacy"):
        made.append(**chunk([observation(1), observation(2)], [[0.0, 1.0]]))


def test_h11_the_first_frame_keeps_its_own_success_and_intervention() -> None:
    made = accumulator(slots=1)
    info = {"final_observation": observation(9.0), "final_info": {"success": [False]}}
    made.append(
        **chunk(
            [observation(100)],
            [[0.0]],
            observation(0.0),
            truncated=[(0, 0)],
            infos=[info],
        )
    )
    own = {
        "success": torch.tensor([True]),
        "intervene_action": torch.tensor([[7.0]]),
        "intervene_flag": torch.tensor([True]),
    }
    made.append(
        **chunk(
            [observation(101)],
            [[100.0]],
            observation(100.0),
            terminated=[(0, 0)],
            infos=[own],
        )
    )
    _, second = made.drain()
    assert recorded(second, "state") == [100]
    assert recorded(second, "actions") == [7]
    assert recorded(second, "intervene_flag") == [True]
    assert recorded(second, "is_success") == [True]


@pytest.mark.parametrize("slot", [0, 1, 2])
def test_h12_the_finishing_slots_own_expert_action_is_recorded(slot: int) -> None:
    made = accumulator(slots=3)
    infos: list[Any] = [{}, {}, {}]
    infos[slot] = {"final_observation": observation(9.0), "final_info": {}}
    made.append(
        **chunk(
            [observation(1), observation(2), observation(3)],
            [[0.0, 1.0, 2.0]],
            observation(0.0),
            terminated=[(0, slot)],
            infos=infos,
            expert=[[50.0, 51.0, 52.0]],
            flags=[[at == slot for at in range(3)]],
        )
    )
    (episode,) = made.drain()
    assert recorded(episode, "actions") == [*range(slot), 50 + slot]
    assert recorded(episode, "intervene_flag")[-1] is True


def test_h12_an_environments_expert_chunk_in_final_info_is_read_at_its_slot() -> None:
    made = accumulator(slots=3)
    final = {
        "intervene_action": torch.tensor([[[50.0], [51.0], [52.0]]]),
        "intervene_flag": torch.tensor([[False, True, False]]),
    }
    made.append(
        **chunk(
            [observation(1), observation(2), observation(3)],
            [[0.0, 1.0, 2.0]],
            observation(0.0),
            terminated=[(0, 1)],
            infos=[
                {},
                {"final_observation": observation(9.0), "final_info": final},
                {},
            ],
        )
    )
    (episode,) = made.drain()
    assert recorded(episode, "actions") == [0, 51]
    assert recorded(episode, "intervene_flag") == [False, True]


@pytest.mark.parametrize("masked", [True, False])
def test_h21_the_finishing_slot_keeps_expert_flag_and_success(masked: bool) -> None:
    made = accumulator()
    final = {"final_info": {"success": torch.tensor([True])}}
    made.append(
        **chunk(
            [observation(0 if masked else 1), observation(1 if masked else 2)],
            [[0.0, 1.0]],
            observation(0.0),
            terminated=[(0, 1)],
            infos=[{}, final],
            expert=[[50.0, 51.0]],
            flags=[[False, True]],
            mask=[[True, True]] if masked else None,
        )
    )
    (episode,) = made.drain()
    assert recorded(episode, "state") == [0, 1]
    assert recorded(episode, "actions") == [0, 51]
    assert recorded(episode, "intervene_flag") == [False, True]
    assert recorded(episode, "is_success") == [True, True]


def test_24_a_policy_that_is_the_expert_is_recorded_slot_by_slot() -> None:
    made = accumulator()
    made.append(
        **chunk(
            [observation(1), observation(2)],
            [[1.0, 2.0]],
            observation(0.0),
            terminated=[(0, 1)],
            expert=[[9.0, 8.0]],
            flags=[[False, True]],
        )
    )
    (episode,) = made.drain()
    assert recorded(episode, "actions") == [1, 8]
    assert recorded(episode, "intervene_flag") == [False, True]


def test_h18_m2_a_chunk_with_no_executed_slot_ends_the_episode() -> None:
    made = accumulator()
    nothing = [[False, False]]
    made.append(
        **chunk([observation(0), observation(1)], [[0.0, 1.0]], mask=[[True, True]])
    )
    made.append(
        **chunk(
            [observation(2), observation(2)],
            [[2.0, 3.0]],
            terminated=[(0, 1)],
            infos=[{}, {"success": torch.tensor([True])}],
            mask=nothing,
        )
    )
    (episode,) = made.drain()
    assert recorded(episode, "state") == [0, 1]
    assert recorded(episode, "done") == [False, True]
    assert recorded(episode, "is_success") == [True, True]
    # Without frames there is nothing to end.
    made.append(
        **chunk(
            [observation(2), observation(2)],
            [[2.0, 3.0]],
            terminated=[(0, 1)],
            mask=nothing,
        )
    )
    assert made.drain() == []


@pytest.mark.parametrize("mask", [[True, False, True], [False, True, True]])
def test_h19_m3_a_mask_with_a_hole_is_refused(mask: list[bool]) -> None:
    made = accumulator(slots=3)
    data = chunk(
        [observation(0), observation(1), observation(2)], [[0.0, 1.0, 2.0]], mask=[mask]
    )
    with pytest.raises(TrajectoryValueError, match="contiguous prefix"):
        made.append(**data)


@pytest.mark.parametrize("frameless", list(Frameless))
def test_a_chunk_with_no_executed_slot_leaves_a_pending_observation(
    frameless: Frameless,
) -> None:
    options = replace(LeRobotOptions.rlinf(), frameless=frameless)
    made = accumulator(slots=1, options=options)
    final = {"final_observation": observation(1), "final_info": {}}
    made.append(**chunk([observation(10)], [[0.0]], terminated=[(0, 0)], infos=[final]))
    # The next episode begins at 10; nothing is executed in this chunk.
    made.append(
        **chunk([observation(10)], [[1.0]], terminated=[(0, 0)], mask=[[False]])
    )
    made.append(**chunk([observation(11)], [[2.0]], terminated=[(0, 0)]))
    first, second = made.drain()
    assert recorded(first, "state") == [1]
    assert recorded(second, "state") == [10]


def test_a_policy_s_expert_says_something_of_every_step() -> None:
    made = accumulator(slots=2, options=LeRobotOptions.rlinf())
    data = chunk(
        [observation(1), observation(2), observation(3)],
        [[0.0, 1.0]],
        expert=[[5.0, 6.0]],
        flags=[[True, True]],
    )
    data["terminations"] = data["truncations"] = torch.tensor([False])
    with pytest.raises(TrajectoryIndexError, match="2 slots, and there are 3 steps"):
        made.append(**data)


def test_m1_shortened_chunks_of_two_environments() -> None:
    made = accumulator(envs=2, slots=4)
    before = [observation(10.0 + at, 20.0 + at) for at in range(4)]
    made.append(
        **chunk(
            before,
            [[100.0, 101, 102, 103], [200, 201, 202, 203]],
            terminated=[(0, 3)],
            truncated=[(1, 3)],
            infos=[
                {},
                {},
                {},
                {"final_info": {"success": torch.tensor([True, False])}},
            ],
            expert=[[1000.0, 1001, 1002, 1003], [2000, 2001, 2002, 2003]],
            flags=[[False, True, True, True], [False] * 4],
            mask=[[True, True, False, False], [True] * 4],
        )
    )
    short, whole = made.drain()
    assert recorded(short, "state") == [10, 11]
    assert recorded(short, "actions") == [100, 1001]
    assert recorded(short, "is_success") == [True, True]
    assert recorded(whole, "state") == [20, 21, 22, 23]
    assert recorded(whole, "actions") == [200, 201, 202, 203]
    assert recorded(whole, "is_success") == [False] * 4
    for episode in (short, whole):
        assert recorded(episode, "done") == [False] * (len(episode) - 1) + [True]
    made.append(
        **chunk(
            [observation(30.0 + at, 40.0 + at) for at in range(4)],
            [[0.0] * 4, [0.0] * 4],
            terminated=[(0, 3), (1, 3)],
            mask=[[True] * 4] * 2,
        )
    )
    assert [recorded(each, "state")[0] for each in made.drain()] == [30, 40]


def test_final_observation_without_final_info_is_refused_whole() -> None:
    made = accumulator()
    data = chunk(
        [observation(1), observation(2)],
        [[0.0, 1.0]],
        observation(0.0),
        terminated=[(0, 1)],
        infos=[{}, {"final_observation": observation(9.0)}],
    )
    with pytest.raises(TrajectoryKeyError, match="final_info"):
        made.append(**data)
    assert made.states[0].frames == []


def test_a_finishing_step_outside_the_recording_ends_what_was_recorded() -> None:
    made = accumulator(slots=1)
    made.append(**chunk([observation(1)], [[0.0]], observation(0.0)))
    made.append(
        **chunk(
            [observation(2)],
            [[1.0]],
            observation(1.0),
            terminated=[(0, 0)],
            infos=[{"pre_record": True, "success": True}],
        )
    )
    (episode,) = made.drain()
    assert recorded(episode, "state") == [0]
    assert recorded(episode, "done") == [True]


def test_h15_a_finishing_step_without_an_action_ends_what_was_recorded() -> None:
    made = accumulator(slots=1)
    made.append(**chunk([observation(1)], [[0.0]], observation(0.0)))
    silent = chunk([observation(2)], [[1.0]], observation(1.0), terminated=[(0, 0)])
    made.append(**{**silent, "chunk_actions": None})
    (episode,) = made.drain()
    assert recorded(episode, "state") == [0]
    assert recorded(episode, "done") == [True]


def test_the_resetting_steps_success_does_not_count_for_the_next_frame() -> None:
    made = accumulator(slots=1)
    made.append(
        **chunk(
            [observation(10)],
            [[0.0]],
            observation(0.0),
            infos=[{"record_reset": True, "success": True}],
        )
    )
    made.append(
        **chunk([observation(11)], [[10.0]], observation(10.0), terminated=[(0, 0)])
    )
    (episode,) = made.drain()
    assert recorded(episode, "state") == [10]
    assert recorded(episode, "is_success") == [False]


def test_what_is_refused_in_the_middle_of_a_chunk_leaves_nothing() -> None:
    made = accumulator(envs=2)
    good = chunk(
        [observation(1, 1), observation(2, 2)], [[0.0, 1.0]] * 2, observation(0, 0)
    )
    made.append(**good)
    bad = chunk(
        [observation(3, 3), observation(4, 4)],
        [[2.0, 3.0]] * 2,
        observation(2, 2),
        terminated=[(0, 0)],
    )
    bad["obs_list"][0] = {"states": bad["obs_list"][0]["states"]}  # slot 1: no task
    with pytest.raises(TrajectoryValueError, match="task"):
        made.append(**bad)
    assert [len(state.frames) for state in made.states] == [2, 2]
    assert made.drain() == []


def test_a_256th_segment_leaves_the_episode_as_it_was() -> None:
    made = accumulator(slots=1)
    advance = [{"segment_advance": True}]
    for at in range(255):
        made.append(
            **chunk([observation(0)], [[float(at)]], observation(0.0), infos=advance)
        )
    with pytest.raises(TrajectoryValueError, match="segments"):
        made.append(
            **chunk([observation(0)], [[255.0]], observation(0.0), infos=advance)
        )
    made.append(
        **chunk([observation(0)], [[256.0]], observation(0.0), terminated=[(0, 0)])
    )
    (episode,) = made.drain()
    assert recorded(episode, "segment_id") == [*range(1, 256), 255]
    assert episode[0]["segment_id"].dtype == np.uint8


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, int, list[np.ndarray]]:
    """Environments, slots, and for each chunk which slots end an episode."""
    envs, slots = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    chunks = draw(st.integers(1, 4))
    ends = st.lists(st.booleans(), min_size=envs * slots, max_size=envs * slots)
    return (
        envs,
        slots,
        [np.array(draw(ends)).reshape(envs, slots) for _ in range(chunks)],
    )


@given(runs())
@settings(max_examples=60, deadline=None)
def test_pairs_and_legacy_differ_in_observations_only(
    run: tuple[int, int, list[np.ndarray]],
) -> None:
    """And in pairs the observation is always the one before the action."""
    envs, slots, all_ends = run
    pairs = accumulator(envs, slots)
    legacy = accumulator(envs, slots, options=LeRobotOptions(pairing=Pairing.LEGACY))
    now = 0.0
    for ends in all_ends:
        actions = [[now + slot for slot in range(slots)] for _ in range(envs)]
        after = [observation(*[now + slot + 1] * envs) for slot in range(slots)]
        infos = [
            {"final_observation": observation(*[-1.0] * envs), "final_info": {}}
            if ends[:, slot].any()
            else {}
            for slot in range(slots)
        ]
        data = chunk(
            after,
            actions,
            observation(*[now] * envs),
            terminated=[tuple(place) for place in np.argwhere(ends).tolist()],
            infos=infos,
        )
        pairs.append(**data)
        legacy.append(**data)
        now += slots
    ours, theirs = pairs.drain(), legacy.drain()
    assert len(ours) == len(theirs) == sum(ends.sum() for ends in all_ends)
    for episode, other in zip(ours, theirs, strict=True):
        assert recorded(episode, "state") == recorded(episode, "actions")
        for key in ("actions", "done", "intervene_flag", "segment_id"):
            assert recorded(episode, key) == recorded(other, key)
