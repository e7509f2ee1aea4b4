"""Test 40 of the contract and the recorded routing tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.trajectory.errors import TrajectoryAssertionError
from isoscope.core.trajectory.preprocess import CommMapper
from tests.golden import Case, assert_same, cases_of

CASES = [case for case in cases_of("plan") if case.call.startswith("CommMapper.")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded(case: Case) -> None:
    call = getattr(CommMapper, case.call.removeprefix("CommMapper."))
    if case.raises is not None:
        assert case.raises == "AssertionError"
        with pytest.raises(TrajectoryAssertionError):
            call(**case.decoded())
        return
    found = call(**case.decoded())
    as_written = found if isinstance(found, str) else [list(each) for each in found]
    assert_same(case.expect, as_written, case.tensors)


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
