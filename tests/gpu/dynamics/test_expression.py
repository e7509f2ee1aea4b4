"""Expressions simplify themselves and keep their value."""

from __future__ import annotations

import math
import traceback
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoscope.gpu.dynamics import emit as emit_module
from isoscope.gpu.dynamics.emit import emit
from isoscope.gpu.dynamics.expression import (
    Expression,
    Graph,
    cos,
    maximum,
    minimum,
    sin,
    sqrt,
    where_less,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_zeros_and_ones_disappear() -> None:
    graph = Graph()
    x, y = graph.inputs("x", 2)
    assert x + 0.0 is x
    assert 0.0 + x is x
    assert x - 0.0 is x
    assert x * 1.0 is x
    assert (x * 0.0).is_constant(0.0)
    assert (x - x).is_constant(0.0)
    assert x / 1.0 is x
    assert (0.0 / x).is_constant(0.0)
    assert (0.0 - x) is -x
    assert maximum(x, x) is x
    assert where_less(x, y, x, x) is x


def test_equal_subexpressions_are_one_node() -> None:
    graph = Graph()
    x, y = graph.inputs("x", 2)
    assert x + y is y + x
    assert x * y is y * x
    assert (x - y) is -(y - x)
    assert graph.input("x", 0, wide=True) is x


def test_negations_are_pulled_out() -> None:
    graph = Graph()
    x, y = graph.inputs("x", 2)
    assert (-x) * (-y) is x * y
    assert (-x) * y is -(x * y)
    assert x + (-y) is x - y
    negative = -x
    assert -negative is x
    assert (-x) / y is -(x / y)
    assert sin(-x) is -sin(x)
    assert cos(-x) is cos(x)
    assert x * -2.0 is -(x * 2.0)


def test_constants_fold() -> None:
    graph = Graph()
    two = graph.lift(2.0)
    assert (two + 3.0).is_constant(5.0)
    assert (3.0 - two).is_constant(1.0)
    assert (two * 3.0).is_constant(6.0)
    assert (1.0 / two).is_constant(0.5)
    assert sqrt(graph.lift(4.0)).is_constant(2.0)  # type: ignore[union-attr]
    assert graph.lift(-0.0) is graph.lift(0.0)


OPERATIONS = ("add", "sub", "mul", "neg", "sin", "cos", "max", "min", "less")
STEPS = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), *[st.integers(0, 40)] * 4), max_size=30
)
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0, 3.0])


def apply(op: str, a: Any, b: Any, x: Any, y: Any) -> Any:
    laws: dict[str, Callable[[], Any]] = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "neg": lambda: -a,
        "sin": lambda: sin(a),
        "cos": lambda: cos(a),
        "max": lambda: maximum(a, b),
        "min": lambda: minimum(a, b),
        "less": lambda: where_less(a, b, x, y),
    }
    return laws[op]()


def built_up(values: list[Any], steps: list[tuple[Any, ...]]) -> list[Any]:
    values = list(values)
    for op, *picks in steps:
        chosen = [values[pick % len(values)] for pick in picks]
        if op == "less":
            # of the inputs, as a last bit of a sine would decide what comes out
            chosen[:2] = [values[pick % 4] for pick in picks[:2]]
        bounded = apply(op, *chosen)
        # keeps numbers small, as sines of large ones differ between libraries
        values.append(sin(bounded) if op == "mul" else bounded)
    return values


@given(
    STEPS,
    st.lists(NUMBERS, min_size=3, max_size=3),
    NUMBERS,
    st.sampled_from([7, 2000]),
)
def test_emitted_code_computes_what_plain_floats_do(
    steps: list[tuple[Any, ...]], inputs: list[float], constant: float, longest: int
) -> None:
    graph = Graph()
    wide = graph.inputs("x", 2)
    narrow = graph.input("p", 0, wide=False)
    symbols = built_up([*wide, narrow, constant], steps)
    plain = built_up([*inputs, constant], steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emit_module, "LONGEST", longest)
        code = emit("law", [graph.lift(s) for s in symbols], ("x",), ("p",))
    rows = torch.tensor(inputs, dtype=torch.float64)[:, None].expand(3, 5).contiguous()
    prepared = code.prepare(rows[0], (rows[2, :1],))
    result = torch.stack(code.run(rows[0], prepared, rows[:2].unbind(0)))
    expected = torch.tensor(plain, dtype=torch.float64)[:, None].expand_as(result)
    torch.testing.assert_close(result, expected, rtol=1e-9, atol=1e-9)


def test_code_is_readable_and_frees_what_it_has_used() -> None:
    graph = Graph()
    x, y = graph.inputs("x", 2)
    product = x * y
    code = emit("small", [product + sin(product * 2.0)], ("x",), ())
    assert "x[0] * x[1]" in code.source
    assert "del" in code.source


def test_a_traceback_shows_the_generated_line() -> None:
    graph = Graph()
    x, y = graph.inputs("x", 2)
    code = emit("broken", [x * y], ("x",), ())
    with pytest.raises(TypeError) as caught:
        code.run(None, (), ([1], object()))
    assert "x[0] * x[1]" in "".join(traceback.format_exception(caught.value))


def test_only_what_depends_on_worlds_is_wide() -> None:
    graph = Graph()
    x, p = graph.input("x", 0, wide=True), graph.input("p", 0, wide=False)
    assert isinstance(p * p, Expression)
    assert not (p * p + 1.0).wide
    assert (x + p).wide
    assert math.isclose(float((graph.lift(2.0) * 2.0).value), 4.0)


def test_products_are_not_regrouped() -> None:
    # else a term that a zero leaves alone would be rounded otherwise than in a sum
    graph = Graph()
    x, p = graph.input("x", 0, wide=True), graph.input("p", 0, wide=False)
    assert (0.6 * (0.8 * x)).op == "mul"
    assert 0.8 * x in (0.6 * (0.8 * x)).arguments
    assert 0.6 * (0.8 * x + 0.0 * p) is 0.6 * (0.8 * x)
