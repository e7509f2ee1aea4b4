"""Filters by query: ``length > 50 and not findings and return > q25``.

A query is read by Python's own parser and then only walked: names, numbers, texts,
comparisons, arithmetic, `and`, `or`, `not`, `in`. Nothing is called or looked up in
anything but the columns. ``q25`` is the 25 % quantile, over all episodes, of whatever
it is compared with; `mean`, `min`, `max` and `median` likewise.
"""

from __future__ import annotations

import ast
import operator
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.core.recording.tracks import Array, BoolArray

MAX_LENGTH = 2000
# `return` is Python's word; inside of a query it is a column.
_RENAMED = {"return": "return_"}
_QUANTILE = re.compile(r"q(\d{1,2}(?:_\d+)?|100)$")
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_OVER_ALL: dict[str, Callable[[Array], Any]] = {
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
    "median": np.median,
}


def matching(query: str, columns: Mapping[str, Any]) -> BoolArray:
    """Which episodes a query is true for.

    Parameters
    ----------
    columns
        By name an array [n] of numbers or bool, or for tags a list of n sets of texts.
        A number that is NaN is unknown: no comparison with it is true.

    Returns
    -------
    array
        Bool [n].

    Raises
    ------
    UsageError
        If it can't be understood; says where and what there is.
    """
    if len(query) > MAX_LENGTH:
        raise UsageError(f"a query of more than {MAX_LENGTH} characters")
    text = re.sub(r"\breturn\b", _RENAMED["return"], query)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = getattr(error, "offset", None)
        at = f" at character {where}" if where else ""
        raise UsageError(f"the query {query!r} can't be understood{at}") from None
    named = {_RENAMED.get(name, name): values for name, values in columns.items()}
    try:
        found = _Walk(query, named).truth(tree.body)
    except RecursionError:
        raise UsageError(f"the query {query!r} is nested too deeply") from None
    return np.asarray(found, np.bool_)


class _Walk:
    def __init__(self, query: str, columns: Mapping[str, Any]) -> None:
        self.query, self.columns = query, columns
        self.count = len(next(iter(columns.values()))) if columns else 0

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"the query {self.query!r}: {what}")

    def truth(self, node: ast.expr) -> BoolArray:
        """A condition: bool [n]."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(value) for value in node.values]
            combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return np.asarray(combine.reduce(parts), np.bool_)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.truth(node.operand)
        if isinstance(node, ast.Compare):
            return self.compared(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return np.full(self.count, node.value)
        values = self.number(node)
        with np.errstate(invalid="ignore"):
            return np.asarray((values != 0) & ~np.isnan(values), np.bool_)

    def compared(self, node: ast.Compare) -> BoolArray:
        sides = [node.left, *node.comparators]
        out = np.ones(self.count, np.bool_)
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                held = self.held(left, right)
                out &= ~held if isinstance(op, ast.NotIn) else held
                continue
            compare = _COMPARE.get(type(op))
            if compare is None:
                raise self.wrong("it has a comparison that is not known here")
            a, b = self.both(left, right)
            with np.errstate(invalid="ignore"):
                out &= compare(a, b) & ~(np.isnan(a) | np.isnan(b))
        return out

    def both(self, left: ast.expr, right: ast.expr) -> tuple[Array, Array]:
        """Two sides of a comparison, one of which may be over all of the other."""
        over_left, over_right = self.over_all(left), self.over_all(right)
        if (over_left or over_right) and not (self.varies(left) or self.varies(right)):
            raise self.wrong("a quantile needs something of an episode beside it")
        if over_left is not None and over_right is None:
            b = self.number(right)
            return self.reduced(over_left, b), b
        a = self.number(left)
        return a, self.number(right) if over_right is None else self.reduced(
            over_right, a
        )

    def varies(self, node: ast.expr) -> bool:
        """Whether it has a column in it."""
        names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        return any(name in self.columns for name in names)

    def over_all(self, node: ast.expr) -> Callable[[Array], Any] | None:
        if not isinstance(node, ast.Name) or node.id in self.columns:
            return None
        found = _QUANTILE.match(node.id)
        if found is not None:
            share = float(found.group(1).replace("_", ".")) / 100
            return lambda values: np.quantile(values, share)
        return _OVER_ALL.get(node.id)

    def reduced(self, over: Callable[[Array], Any], values: Array) -> Array:
        known = values[~np.isnan(values)]
        value = float(over(known)) if len(known) else float("nan")
        return np.full(self.count, value)

    def held(self, left: ast.expr, right: ast.expr) -> BoolArray:
        if not (isinstance(left, ast.Constant) and isinstance(left.value, str)):
            raise self.wrong('`in` needs a text on its left, as in "good" in tags')
        values = self.columns.get(right.id) if isinstance(right, ast.Name) else None
        if not isinstance(values, list):
            raise self.wrong("`in` needs tags on its right")
        return np.array([left.value in value for value in values], np.bool_)

    def number(self, node: ast.expr) -> Array:
        """Numbers float64 [n]."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            return np.full(self.count, float(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            values = self.columns.get(node.id)
            if isinstance(values, list):
                return np.array([float(len(value)) for value in values])
            if values is not None:
                return np.asarray(values, np.float64)
            known = {v: k for k, v in _RENAMED.items()}
            there = ", ".join(sorted(known.get(n, n) for n in self.columns))
            raise self.wrong(f"there is no {node.id!r}; there are {there}")
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            a, b = self.number(node.left), self.number(node.right)
            with np.errstate(all="ignore"):
                return np.asarray(_ARITHMETIC[type(node.op)](a, b))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self.number(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        raise self.wrong(f"{ast.unparse(node)!r} is nothing that can be compared")
