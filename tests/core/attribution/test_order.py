"""Orders of turns, and what they prove."""

from __future__ import annotations

import numpy as np

from isoscope.core.attribution.order import Turn, fixed_order, rounds


def turns_of(lineages: list[int]) -> list[Turn]:
    return [Turn(2 * k, lineage) for k, lineage in enumerate(lineages)]


def test_a_fixed_order() -> None:
    found = fixed_order(turns_of([4, 5, 6] * 10))
    assert found is not None
    assert found.owner == [0, 1, 2] * 10


def test_a_lineage_that_follows_in_the_same_place_is_the_same_environment() -> None:
    # lineage 7 goes on where 5 had its turns
    found = fixed_order(turns_of([4, 5, 6] * 5 + [4, 7, 6] * 5))
    assert found is not None
    assert found.owner == [0, 1, 2] * 10


def test_no_order_is_none() -> None:
    rng = np.random.default_rng(0)
    assert fixed_order(turns_of(rng.integers(0, 3, 60).tolist())) is None
    assert fixed_order(turns_of([])) is None
    assert fixed_order(turns_of([1] * 40)) is None


def test_a_few_turns_prove_nothing() -> None:
    assert fixed_order(turns_of([0, 1] * 3)) is None


def test_one_turn_out_of_order_breaks_it() -> None:
    lineages = [0, 1, 2] * 10
    lineages[15], lineages[16] = lineages[16], lineages[15]
    assert fixed_order(turns_of(lineages)) is None


def test_a_soft_turn_may_have_been_somebody_elses() -> None:
    turns = turns_of([0, 1, 2] * 10)
    turns[28] = Turn(56, 0, soft=True)  # went on at once from lineage 0's turn
    found = fixed_order(turns)
    assert found is not None
    assert found.owner[28] == 1


def test_resets_behind_and_in_turn() -> None:
    behind = [Turn(0, 0, reset=True), Turn(1, 1, reset=True)]
    row = 2
    lineage = {0: 0, 1: 1}
    fresh = 2
    for k in range(40):
        env = k % 2
        behind.append(Turn(row, lineage[env]))
        row += 2
        if k in (13, 24):
            lineage[env] = fresh
            behind.append(Turn(row, fresh, reset=True))
            fresh += 1
            row += 1
    found = fixed_order(behind)
    assert found is not None
    assert found.owner[:2] == [0, 1]
    assert found.owner[16] == 1  # the reset behind the turn of environment 1
    assert behind[16].reset


def test_rounds_show_whose_the_one_turn_in_doubt_was() -> None:
    rng = np.random.default_rng(1)
    order = [int(e) for _ in range(12) for e in rng.permutation(4)]
    turns = turns_of(order)
    doubt = list(order)
    doubt[17] = -1
    found = rounds(turns, doubt, 4)
    assert found is not None
    assert found == (0, order)


def test_rounds_need_evidence_and_no_contradiction() -> None:
    rng = np.random.default_rng(1)
    assert rounds(turns_of([0, 1]), [0, 1], 2) is None
    random = rng.integers(0, 4, 48).tolist()
    assert rounds(turns_of(random), random, 4) is None
    assert rounds(turns_of([0] * 20), [0] * 20, 1) is None


def test_two_in_doubt_in_one_round_stay_so() -> None:
    order = [0, 1, 2, 3] * 12
    doubt = list(order)
    doubt[20] = doubt[22] = -1
    found = rounds(turns_of(order), doubt, 4)
    assert found is not None
    assert found[1][20] == found[1][22] == -1
