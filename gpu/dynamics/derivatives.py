"""Exact derivatives of expressions, as expressions: forward mode on the graph.

A tangent is carried through every operation (A. Griewank, A. Walther, Evaluating
Derivatives, 2nd edition, SIAM 2008, section 3.1). The graph simplifies while it is
built, so what a variable does not reach costs nothing. Where two branches meet, the
derivative is that of the branch that the value is taken from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.dynamics.expression import Expression, Graph, Scalar


def jacobian(
    graph: Graph, outputs: Sequence[Scalar], variables: Sequence[Expression]
) -> list[list[Expression]]:
    """Differentiate each output by each variable.

    Parameters
    ----------
    outputs
        m expressions of `graph`, or numbers.
    variables
        n inputs of it.

    Returns
    -------
    list
        m rows of n expressions.
    """
    lifted = [graph.lift(value) for value in outputs]
    order = _ordered(lifted)
    zero = graph.lift(0.0)
    columns: list[list[Expression]] = []
    for variable in variables:
        tangents = {variable.index: graph.lift(1.0)}
        for node in order:
            inside = [tangents.get(a.index, zero) for a in node.arguments]
            if all(t is zero for t in inside):
                continue
            tangent = _tangent(graph, node, inside)
            if tangent is not zero:
                tangents[node.index] = tangent
        columns.append([tangents.get(node.index, zero) for node in lifted])
    return [list(row) for row in zip(*columns, strict=True)]


def _tangent(graph: Graph, node: Expression, d: Sequence[Expression]) -> Expression:
    a = node.arguments
    op = node.op
    if op == "add":
        return graph.add(d[0], d[1])
    if op == "sub":
        return graph.sub(d[0], d[1])
    if op == "mul":
        return graph.add(graph.mul(d[0], a[1]), graph.mul(a[0], d[1]))
    if op == "div":
        return graph.div(graph.sub(d[0], graph.mul(node, d[1])), a[1])
    if op == "neg":
        return graph.neg(d[0])
    if op == "sin":
        return graph.mul(graph.cos(a[0]), d[0])
    if op == "cos":
        return graph.neg(graph.mul(graph.sin(a[0]), d[0]))
    if op == "sqrt":
        return graph.div(graph.mul(graph.lift(0.5), d[0]), node)
    if op == "max":
        return graph.where_less(a[1], a[0], d[0], d[1])
    if op == "min":
        return graph.where_less(a[0], a[1], d[0], d[1])
    assert op == "less", op
    return graph.where_less(a[0], a[1], d[2], d[3])


def _ordered(outputs: Sequence[Expression]) -> list[Expression]:
    """Return what the outputs need, operands first: in the order of numbers."""
    found: dict[int, Expression] = {}
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node.index not in found:
            found[node.index] = node
            stack.extend(node.arguments)
    return [found[index] for index in sorted(found)]
