"""A graph of scalar operations that simplifies itself as it is built.

The algorithms of this folder are written over scalars of any type. Given Python floats
they compute; given expressions they record what they would compute, which `emit` then
writes down as torch code. A node is made once (hash-consing), so equal subexpressions
are one node. What a tree's structure makes zero or one disappears.

Only identities that change no bit of a finite result are used, and none that regroups
sums or products. So code that leaves out a zero computes what code with it would, and a
world's bits depend on its own numbers alone.
"""

from __future__ import annotations

import math
from typing import TypeAlias, cast

Scalar: TypeAlias = "Expression | float"

COMMUTATIVE = frozenset({"add", "mul", "max", "min"})


class Expression:
    """One scalar: an input, or an operation on other scalars.

    Attributes
    ----------
    op
        ``input``, ``const``, ``add``, ``sub``, ``mul``, ``div``, ``neg``, ``sin``,
        ``cos``, ``sqrt``, ``max``, ``min`` or ``less`` (arguments a, b, x, y: x where
        a < b, else y).
    arguments
        The operands.
    value
        A constant's value.
    name, row
        An input's group and its row there.
    index
        Its number in its graph: higher than that of its arguments.
    wide
        Whether it can differ between worlds whatever the parameters' shape is.
    """

    __slots__ = ("arguments", "graph", "index", "name", "op", "row", "value", "wide")

    def __init__(
        self,
        graph: Graph,
        op: str,
        arguments: tuple[Expression, ...] = (),
        *,
        value: float = 0.0,
        name: str = "",
        row: int = 0,
        wide: bool = False,
    ) -> None:
        self.graph = graph
        self.op = op
        self.arguments = arguments
        self.value = value
        self.name = name
        self.row = row
        self.index = graph.count
        self.wide: bool = wide or any(a.wide for a in arguments)
        graph.count += 1

    def __add__(self, other: Scalar) -> Expression:
        return self.graph.add(self, self.graph.lift(other))

    def __radd__(self, other: float) -> Expression:
        return self.graph.add(self.graph.lift(other), self)

    def __sub__(self, other: Scalar) -> Expression:
        return self.graph.sub(self, self.graph.lift(other))

    def __rsub__(self, other: float) -> Expression:
        return self.graph.sub(self.graph.lift(other), self)

    def __mul__(self, other: Scalar) -> Expression:
        return self.graph.mul(self, self.graph.lift(other))

    def __rmul__(self, other: float) -> Expression:
        return self.graph.mul(self.graph.lift(other), self)

    def __truediv__(self, other: Scalar) -> Expression:
        return self.graph.div(self, self.graph.lift(other))

    def __rtruediv__(self, other: float) -> Expression:
        return self.graph.div(self.graph.lift(other), self)

    def __neg__(self) -> Expression:
        return self.graph.neg(self)

    def __repr__(self) -> str:
        if self.op == "const":
            return repr(self.value)
        if self.op == "input":
            return f"{self.name}[{self.row}]"
        return f"{self.op}({', '.join(f'e{a.index}' for a in self.arguments)})"

    def is_constant(self, value: float) -> bool:
        """Whether it is the constant `value`."""
        return self.op == "const" and self.value == value


class Graph:
    """Makes expressions, each only once."""

    def __init__(self) -> None:
        self.count = 0
        self._nodes: dict[tuple[object, ...], Expression] = {}

    def lift(self, value: Scalar) -> Expression:
        """Return `value` as an expression of this graph."""
        if isinstance(value, Expression):
            return value
        number = float(value)
        # -0.0 and 0.0 are one constant
        key = ("const", number if number else 0.0)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Expression(self, "const", value=number or 0.0)
        return node

    def input(self, name: str, row: int, *, wide: bool) -> Expression:
        """Return row `row` of the input group `name`."""
        key = ("input", name, row)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Expression(
                self, "input", name=name, row=row, wide=wide
            )
        return node

    def inputs(self, name: str, rows: int, *, wide: bool = True) -> list[Expression]:
        """Return the rows of an input group."""
        return [self.input(name, row, wide=wide) for row in range(rows)]

    def _node(self, op: str, *arguments: Expression) -> Expression:
        if op in COMMUTATIVE and arguments[0].index > arguments[1].index:
            arguments = arguments[::-1]
        key = (op, *(a.index for a in arguments))
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Expression(self, op, arguments)
        return node

    def _known(self, op: str, *arguments: Expression) -> Expression | None:
        return self._nodes.get((op, *(a.index for a in arguments)))

    def add(self, a: Expression, b: Expression) -> Expression:
        """Return a + b."""
        if a.op == "const" and b.op == "const":
            return self.lift(a.value + b.value)
        if a.is_constant(0.0):
            return b
        if b.is_constant(0.0):
            return a
        if a.op == "neg" and b.op == "neg":
            return self.neg(self.add(a.arguments[0], b.arguments[0]))
        if b.op == "neg":
            return self.sub(a, b.arguments[0])
        if a.op == "neg":
            return self.sub(b, a.arguments[0])
        return self._node("add", a, b)

    def sub(self, a: Expression, b: Expression) -> Expression:
        """Return a - b."""
        if a is b:
            return self.lift(0.0)
        if a.op == "const" and b.op == "const":
            return self.lift(a.value - b.value)
        if b.is_constant(0.0):
            return a
        if a.is_constant(0.0):
            return self.neg(b)
        if b.op == "neg":
            return self.add(a, b.arguments[0])
        if a.op == "neg":
            return self.neg(self.add(a.arguments[0], b))
        reverse = self._known("sub", b, a)
        return self._node("sub", a, b) if reverse is None else self.neg(reverse)

    def mul(self, a: Expression, b: Expression) -> Expression:
        """Return a b."""
        if b.op == "const":
            a, b = b, a
        if a.op == "const":
            if b.op == "const":
                return self.lift(a.value * b.value)
            if a.value == 0.0:
                return a
            if a.value == 1.0:
                return b
            if a.value == -1.0:
                return self.neg(b)
            if a.value < 0.0:
                return self.neg(self.mul(self.lift(-a.value), b))
        if a.op == "neg" and b.op == "neg":
            return self.mul(a.arguments[0], b.arguments[0])
        if a.op == "neg":
            return self.neg(self.mul(a.arguments[0], b))
        if b.op == "neg":
            return self.neg(self.mul(a, b.arguments[0]))
        return self._node("mul", a, b)

    def div(self, a: Expression, b: Expression) -> Expression:
        """Return a / b; b must not be the constant zero."""
        if b.op == "const":
            return self.mul(self.lift(1.0 / b.value), a)
        if a.is_constant(0.0):
            return a
        if a.op == "neg" and b.op == "neg":
            return self.div(a.arguments[0], b.arguments[0])
        if a.op == "neg":
            return self.neg(self.div(a.arguments[0], b))
        if b.op == "neg":
            return self.neg(self.div(a, b.arguments[0]))
        return self._node("div", a, b)

    def neg(self, a: Expression) -> Expression:
        """Return -a."""
        if a.op == "const":
            return self.lift(-a.value)
        if a.op == "neg":
            return a.arguments[0]
        return self._node("neg", a)

    def sin(self, a: Expression) -> Expression:
        """Return the sine of a."""
        if a.op == "const":
            return self.lift(math.sin(a.value))
        return (
            self.neg(self.sin(a.arguments[0]))
            if a.op == "neg"
            else self._node("sin", a)
        )

    def cos(self, a: Expression) -> Expression:
        """Return the cosine of a."""
        if a.op == "const":
            return self.lift(math.cos(a.value))
        return self.cos(a.arguments[0]) if a.op == "neg" else self._node("cos", a)

    def sqrt(self, a: Expression) -> Expression:
        """Return the square root of a."""
        if a.op == "const":
            return self.lift(math.sqrt(a.value))
        return self._node("sqrt", a)

    def extreme(self, op: str, a: Expression, b: Expression) -> Expression:
        """Return the larger (op ``max``) or smaller (``min``) of a and b."""
        if a is b:
            return a
        if a.op == "const" and b.op == "const":
            return self.lift((max if op == "max" else min)(a.value, b.value))
        return self._node(op, a, b)

    def where_less(
        self, a: Expression, b: Expression, x: Expression, y: Expression
    ) -> Expression:
        """Return x where a < b, else y."""
        if a.op == "const" and b.op == "const":
            return x if a.value < b.value else y
        return x if x is y else self._node("less", a, b, x, y)


def sin(a: Scalar) -> Scalar:
    """Return the sine of a number or an expression."""
    return a.graph.sin(a) if isinstance(a, Expression) else math.sin(a)


def cos(a: Scalar) -> Scalar:
    """Return the cosine of a number or an expression."""
    return a.graph.cos(a) if isinstance(a, Expression) else math.cos(a)


def sqrt(a: Scalar) -> Scalar:
    """Return the square root of a number or an expression."""
    return a.graph.sqrt(a) if isinstance(a, Expression) else math.sqrt(a)


def _lifted(*values: Scalar) -> tuple[Expression, ...] | None:
    for value in values:
        if isinstance(value, Expression):
            return tuple(value.graph.lift(v) for v in values)
    return None


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two numbers or expressions."""
    lifted = _lifted(a, b)
    if lifted is None:
        return max(cast("float", a), cast("float", b))
    return lifted[0].graph.extreme("max", lifted[0], lifted[1])


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two numbers or expressions."""
    lifted = _lifted(a, b)
    if lifted is None:
        return min(cast("float", a), cast("float", b))
    return lifted[0].graph.extreme("min", lifted[0], lifted[1])


def where_less(a: Scalar, b: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """Return x where a < b, else y; both are computed."""
    lifted = _lifted(a, b, x, y)
    if lifted is None:
        return x if cast("float", a) < cast("float", b) else y
    return lifted[0].graph.where_less(*lifted)
