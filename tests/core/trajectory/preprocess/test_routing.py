"""Test 40 of the contract and the recorded routing tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.trajectory.errors import TrajectoryAssertionError
from isoscope.core.trajectory.preprocess import CommMapper
from tests import golden

if TYPE_CHECKING:
    from tests.golden import Case

CALLS = [f"CommMapper.{name}" for name in ("get_dst_ranks", "get_src_ranks")]


@golden.parametrize("plan", *CALLS, "CommMapper.build_channel_key")
def test_recorded(case: Case) -> None:
    def call(case: Case) -> Any:
        found = getattr(CommMapper, case.call.split(".")[1])(**case.args)
        return found if isinstance(found, str) else [list(each) for each in found]

    golden.run(case, call)


def test_40_two_sources_and_three_actors_both_ways() -> None:
    assert CommMapper.get_dst_ranks(12, 2, 3, 0) == [(0, 4), (1, 2)]
    assert CommMapper.get_dst_ranks(12, 2, 3, 1) == [(1, 2), (2, 4)]
    assert CommMapper.get_dst_ranks(12, 3, 2, 1) == [(0, 2), (1, 2)]
    assert CommMapper.get_src_ranks(12, 2, 3, 1) == [(0, 2), (1, 2)]
    assert CommMapper.get_src_ranks(12, 3, 2, 0) == [(0, 4), (1, 2)]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
def test_both_tables_tell_the_same_and_cover_every_row(
    sources: int, actors: int, times: int
) -> None:
    size = sources * actors * times
    sent = {
        (source, actor): rows
        for source in range(sources)
        for actor, rows in CommMapper.get_dst_ranks(size, sources, actors, source)
    }
    received = {
        (source, actor): rows
        for actor in range(actors)
        for source, rows in CommMapper.get_src_ranks(size, sources, actors, actor)
    }
    assert sent == received
    assert sum(sent.values()) == size
    for actor in range(actors):
        assert sum(n for (_, a), n in sent.items() if a == actor) == size // actors


@pytest.mark.parametrize(
    "arguments", [(7, 2, 1, 0), (4, 2, 3, 0), (4, 2, 2, 2), (4, 2, 2, -1), (4, 0, 2, 0)]
)
def test_sizes_that_do_not_divide_and_ranks_that_are_not_there_are_refused(
    arguments: tuple[int, int, int, int],
) -> None:
    with pytest.raises(TrajectoryAssertionError):
        CommMapper.get_dst_ranks(*arguments)
    with pytest.raises(TrajectoryAssertionError):
        CommMapper.get_src_ranks(*arguments)
