"""Arrays whose memory goes back when they do."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.roomy import KEPT_BYTES, roomy


@pytest.mark.parametrize("dtype", ["?", "<i4", "<f8", [("a", "<i8"), ("b", "|u1")]])
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (5, 7), (2000, 2)])
def test_of_the_shape_that_was_asked_for_in_a_block_of_its_own(
    shape: tuple[int, ...], dtype: object
) -> None:
    made = roomy(shape, np.dtype(dtype))
    assert made.shape == shape
    assert made.dtype == np.dtype(dtype)
    assert made.flags.c_contiguous
    assert made.flags.writeable
    block = made
    while isinstance(block.base, np.ndarray):
        block = block.base
    assert block.nbytes > KEPT_BYTES
    assert block.nbytes <= max(made.nbytes, 2 * KEPT_BYTES)
