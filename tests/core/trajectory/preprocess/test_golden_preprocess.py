"""The recorded results of the actor's side of preparation, all of them."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
import torch

from isoscope.core.trajectory import preprocess
from isoscope.core.trajectory.errors import TrajectoryError
from tests.golden import NOTHING, RAW, Case, assert_same, cases_of

CASES = cases_of("preprocess")
NORMALISED = "normalize_from_stats(masked_stats)"


def call(case: Case) -> Any:
    args = case.decoded()
    if case.call == NORMALISED:
        stats = preprocess.masked_stats(args["x"], args["mask"])
        return preprocess.normalize_from_stats(args["x"], stats)
    if case.call == "masked_stats":
        return preprocess.masked_stats(args["x"], args["mask"])
    if case.call == "torch.randperm twice from one CPU generator":
        return permutations(args["count"], args["seed"])
    return getattr(preprocess, case.call)(**args)


def permutations(count: int, seed: int) -> list[list[int]]:
    """The order of the rows of two flushes, as micro-batches show it."""
    generator = torch.Generator().manual_seed(seed)
    rows = {"prev_logprobs": torch.arange(count)[None]}
    found = [preprocess.micro_batches(rows, count, generator) for _ in range(2)]
    return [parts[0]["prev_logprobs"].tolist() for parts in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded(case: Case) -> None:
    if case.raises is None:
        assert case.expect is not NOTHING
        where = "advantages" if case.call == NORMALISED else "result"
        assert_same(case.expect, call(case), case.tensors, where)
        return
    with pytest.raises(TrajectoryError) as caught:
        call(case)
    recorded = getattr(builtins, case.raises)
    assert isinstance(caught.value, ValueError if case.raises in RAW else recorded)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 30
