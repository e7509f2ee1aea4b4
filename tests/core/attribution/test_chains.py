"""What hangs on what: segments that grow, fork and begin in unrecorded states."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.attribution.lineages import Birth, lineages
from isoscope.core.attribution.segments import Chains, Origin


def rows_of(chains: Chains) -> list[list[int]]:
    out: list[list[int]] = [[] for _ in chains.segments]
    for row, segment in enumerate(chains.segment_of):
        if segment >= 0:
            out[segment].append(row)
    return out


def test_a_chain_grows_and_forks() -> None:
    chains = Chains()
    chains.begin(Origin.RESET)  # 0
    chains.follow(0)  # 1
    chains.follow(1)  # 2: found at once
    chains.follow(2)  # 3
    chains.follow(1)  # 4: restored
    chains.follow(3)  # 5
    assert rows_of(chains) == [[0, 1], [2, 3, 5], [4]]
    first, second = chains.segments[1:]
    assert (first.parent_row, first.at_once) == (1, True)
    assert (second.parent_row, second.at_once) == (1, False)
    assert chains.segments[0].children == [1, 2]
    assert set(chains.live) == {4, 5}
    assert list(chains.parent_of) == [-1, 0, 1, 2, 1, 3]


def test_a_third_child_of_one_state() -> None:
    chains = Chains()
    chains.begin(Origin.ROOT)
    for _ in range(3):
        chains.follow(0)
    assert rows_of(chains) == [[0], [1], [2], [3]]
    assert [s.at_once for s in chains.segments] == [False, True, False, False]


def test_rows_without_a_state_are_passed_over() -> None:
    chains = Chains()
    chains.begin(Origin.ROOT)
    chains.skip()
    chains.follow(0)
    assert list(chains.before) == [-1, 0, 0]
    assert rows_of(chains) == [[0, 2]]


def test_a_state_before_the_first_row() -> None:
    chains = Chains()
    chains.begin(Origin.ROOT)
    chains.follow(0)
    chains.follow_start(0)  # 2 begins where 0 began
    chains.follow_start(chains.segment_of[0])
    unseen = next(s for s in chains.segments if s.tip < s.start)
    assert [chains.segments[c].start for c in unseen.children] == [0, 2, 3]
    found, _ = lineages(chains)
    assert len(found) == 1
    seen = [(r.row, r.left_row, r.to_row) for r in found[0].rewinds]
    assert seen == [(2, 1, -1), (3, 2, -1)]


def test_a_pool_is_used_up() -> None:
    chains = Chains()
    for _ in range(2):
        chains.begin(Origin.RESET)
    chains.begin_from_pool([0, 1])
    assert {0, 1} <= set(chains.live)
    chains.begin_from_pool([0, 1])
    assert set(chains.live) == {2, 3}
    assert chains.pools[0] is chains.pools[1]


def test_one_of_a_pool_is_told_from_the_others_after_all() -> None:
    chains = Chains()
    for _ in range(3):
        chains.begin(Origin.RESET)
    chains.begin_from_pool([0, 1, 2])
    chains.begin_from_pool([0, 1, 2])
    chains.leave_pool(1)
    chains.follow(1)
    assert 0 not in chains.live
    assert chains.pools[0].tips == {0, 2}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60))
def test_any_tree_is_kept_as_it_came(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    chains = Chains()
    parents: list[int] = []
    for row in range(rows):
        parent = int(rng.integers(-1, row)) if row else -1
        if rng.random() < 0.6 and row:
            parent = row - 1
        parents.append(parent)
        if parent < 0:
            chains.begin(Origin.RESET)
        else:
            chains.follow(parent)
    assert list(chains.parent_of) == parents
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(parents):
        if parent >= 0:
            children.setdefault(parent, []).append(row)
    for segment, mine in zip(chains.segments, rows_of(chains), strict=True):
        assert (mine[0], mine[-1]) == (segment.start, segment.tip)
        for a, b in itertools.pairwise(mine):
            assert parents[b] == a
            assert children[a] == [b]
        after = [chains.segments[c].start for c in segment.children]
        assert after == children.get(segment.tip, [])
        assert (segment.tip in chains.live) == (not after)
    found, lineage_of = lineages(chains)
    assert sorted(s for x in found for s in x.segments) == list(
        range(len(chains.segments))
    )
    assert [x.start for x in found] == sorted(x.start for x in found)
    for lineage in found:
        assert lineage.birth in tuple(Birth)
        assert all(lineage_of[s] == lineage.index for s in lineage.segments)
