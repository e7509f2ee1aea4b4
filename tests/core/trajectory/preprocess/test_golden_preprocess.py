"""The recorded results of the actor's side of preparation, all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.core.trajectory import preprocess
from isoscope.core.trajectory.errors import TrajectoryError, TrajectoryValueError
from tests import golden

if TYPE_CHECKING:
    from tests.golden import Case

# Where RLinf fails by accident of torch, ours refuses with its own type.
ACCIDENTS = ("RuntimeError", "TypeError", "AttributeError", "IndexError")
NORMALISED = "normalize_from_stats(masked_stats)"


def call(case: Case) -> Any:
    args = case.args
    if case.call == NORMALISED:
        stats = preprocess.masked_stats(args["x"], args["mask"])
        return preprocess.normalize_from_stats(args["x"], stats)
    if case.call == "masked_stats":
        return preprocess.masked_stats(args["x"], args["mask"])
    if case.call == "torch.randperm twice from one CPU generator":
        generator = torch.Generator().manual_seed(args["seed"])
        rows = {"prev_logprobs": torch.arange(args["count"])[None]}
        return [
            preprocess.micro_batches(rows, args["count"], generator)[0][
                "prev_logprobs"
            ].tolist()
            for _ in range(2)
        ]
    return getattr(preprocess, case.call)(**args)


@golden.parametrize("preprocess")
def test_recorded(case: Case) -> None:
    close = [case.name] if case.call == NORMALISED else []
    refused = TrajectoryValueError if case.raises in ACCIDENTS else ()
    golden.run(case, call, errors=refused, close=close)


@pytest.mark.parametrize(
    "case", [case for case in golden.cases("preprocess") if case.raises], ids=repr
)
def test_what_is_refused_says_one_line(case: Case) -> None:
    with pytest.raises(TrajectoryError) as caught:
        call(case)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 30
