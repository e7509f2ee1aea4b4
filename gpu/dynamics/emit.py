"""From a graph of expressions to straight-line torch code.

Two functions come out: ``prepare`` computes what depends on parameters alone, and
``run`` the rest. Each statement is one torch operation on a row of worlds; a row is
deleted after its last use, so that few are alive at once and the allocator gives back
memory that is still in the cache. The source can be read (`Program.source`), and shows
in tracebacks.
"""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from isoscope.gpu.dynamics.expression import Expression

# statements in one function; a longer program is cut into several
LONGEST = 2000

_numbers = itertools.count()

FORMS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "sin": "sin({})",
    "cos": "cos({})",
    "sqrt": "sqrt({})",
    "max": "maximum({}, {})",
    "min": "minimum({}, {})",
    "less": "where({} < {}, {}, {})",
}
# of a row and a number
WITH_NUMBER = {"max": "clamp_min", "min": "clamp_max"}


@dataclass(frozen=True, slots=True)
class Program:
    """Code made from a graph.

    Attributes
    ----------
    source
        Of both functions.
    groups
        The inputs that depend on worlds, in the order `run` takes them.
    parameters
        The parameters that `prepare` takes, in order.
    live_rows
        How many rows `run` holds at most at once, its inputs and results included.
    """

    source: str
    groups: tuple[str, ...]
    parameters: tuple[str, ...]
    live_rows: int
    prepare: Callable[..., tuple[Any, ...]]
    run: Callable[..., tuple[Any, ...]]


@dataclass
class _Writer:
    """Names what has been computed, and writes statements."""

    names: dict[int, str] = field(default_factory=dict)
    computed: set[int] = field(default_factory=set)

    def text(self, node: Expression, *, tensor: bool = False) -> str:
        if node.op == "const":
            number = repr(node.value).replace("inf", "float('inf')")
            return f"constant({number}, like)" if tensor else number
        return self.names[node.index]

    def statement(self, node: Expression) -> str:
        arguments = node.arguments
        if node.op in WITH_NUMBER and any(a.op == "const" for a in arguments):
            number, row = sorted(arguments, key=lambda a: a.op != "const")
            return f"{WITH_NUMBER[node.op]}({self.text(row)}, {self.text(number)})"
        # of two numbers alone `where` would make the default precision
        alone = node.op == "less" and all(a.op == "const" for a in arguments[2:])
        texts = [self.text(a, tensor=alone) for a in arguments]
        return FORMS[node.op].format(*texts)


def emit(
    name: str,
    outputs: Sequence[Expression],
    groups: Sequence[str],
    parameters: Sequence[str],
) -> Program:
    """Write code that computes `outputs`.

    Parameters
    ----------
    name
        Of the program: in its source and its file name.
    outputs
        What `run` returns; constants come back as rows.
    groups
        Names of the inputs of `run`, each a sequence of rows or, where its only row is
        asked for as ``h``, a number.
    parameters
        Names of the inputs of `prepare`.
    """
    order = _ordered(outputs)
    narrow = [n for n in order if not n.wide and n.op != "const"]
    kept = _handed_over(order, outputs)
    writer = _Writer()
    for node in narrow:
        if node.op == "input":
            writer.names[node.index] = f"{node.name}[{node.row}]"
    operations = [node for node in narrow if node.op != "input"]
    prepare = [
        f"def prepare(like, {', '.join(parameters)}):",
        *_body(writer, operations, kept),
        f"    return ({''.join(writer.text(n) + ', ' for n in kept)})",
    ]
    writer = _Writer()
    for place, node in enumerate(kept):
        writer.names[node.index] = f"p[{place}]"
    for node in order:
        if node.op == "input" and node.wide:
            writer.names[node.index] = (
                node.name if node.name == "h" else f"{node.name}[{node.row}]"
            )
    operations = [n for n in order if n.wide and n.op not in ("input", "const")]
    run = _run(writer, operations, outputs, groups)
    source = "\n".join(
        [f'"""{name}: made from a graph."""', "", *prepare, "", *run, ""]
    )
    filename = f"<isoscope {name} {next(_numbers)}>"
    scope: dict[str, Any] = {
        "sin": torch.sin,
        "cos": torch.cos,
        "sqrt": torch.sqrt,
        "clamp_min": torch.clamp_min,
        "clamp_max": torch.clamp_max,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "where": torch.where,
        "constant": _constant,
        "row": _row,
    }
    exec(compile(source, filename, "exec"), scope)
    linecache.cache[filename] = (
        len(source),
        None,
        source.splitlines(keepends=True),
        filename,
    )
    return Program(
        source,
        tuple(groups),
        tuple(parameters),
        _live_rows(order, operations, outputs),
        scope["prepare"],
        scope["run"],
    )


def _constant(value: float, like: Tensor) -> Tensor:
    return torch.full((1,), value, dtype=like.dtype, device=like.device)


def _row(value: Tensor | float, like: Tensor) -> Tensor:
    """Return a constant or a parameter as a row of worlds."""
    if isinstance(value, float):
        return torch.full_like(like, value)
    return value.expand(like.shape)


def _ordered(outputs: Sequence[Expression]) -> list[Expression]:
    """Return what the outputs need, in the order in which the algorithm asked for it.

    Fewer rows are alive at once so than when each is computed just before its use:
    for an arm of seven joints 44 at a time instead of 58.
    """
    needed: dict[int, Expression] = {}
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node.index not in needed:
            needed[node.index] = node
            stack.extend(node.arguments)
    return [needed[index] for index in sorted(needed)]


def _rows(outputs: Sequence[Expression]) -> set[int]:
    """Return what has a value for each world; what h alone changes has not."""
    found: set[int] = set()
    for node in _ordered(outputs):
        own = node.op == "input" and node.wide and node.name != "h"
        if own or any(a.index in found for a in node.arguments):
            found.add(node.index)
    return found


def _handed_over(
    order: Sequence[Expression], outputs: Sequence[Expression]
) -> list[Expression]:
    """Return what `prepare` computes for `run`."""
    wanted = {a.index for n in order if n.wide for a in n.arguments}
    wanted |= {n.index for n in outputs}
    return [n for n in order if n.index in wanted and not n.wide and n.op != "const"]


def _body(
    writer: _Writer, operations: Sequence[Expression], kept: Sequence[Expression]
) -> list[str]:
    last = _last_uses(operations, {n.index for n in kept})
    lines = []
    for place, node in enumerate(operations):
        text = writer.statement(node)
        writer.names[node.index] = f"t{node.index}"
        writer.computed.add(node.index)
        lines.append(f"    t{node.index} = {text}")
        lines.extend(_deletions(last.get(place, ())))
    return lines


def _last_uses(
    operations: Sequence[Expression], kept: set[int]
) -> dict[int, list[Expression]]:
    own = {n.index for n in operations}
    last: dict[int, tuple[int, Expression]] = {}
    for place, node in enumerate(operations):
        for a in node.arguments:
            if a.index in own and a.index not in kept:
                last[a.index] = (place, a)
    result: dict[int, list[Expression]] = {}
    for place, node in last.values():
        result.setdefault(place, []).append(node)
    return result


def _live_rows(
    order: Sequence[Expression],
    operations: Sequence[Expression],
    outputs: Sequence[Expression],
) -> int:
    """Count the rows that are alive at once, at most."""
    last = _last_uses(operations, {node.index for node in outputs})
    alive = most = 0
    for place in range(len(operations)):
        alive += 1
        most = max(most, alive)
        alive -= len(last.get(place, ()))
    inputs = sum(node.op == "input" and node.wide for node in order)
    return most + inputs + len(outputs)


def _deletions(nodes: Sequence[Expression]) -> list[str]:
    if not nodes:
        return []
    return ["    del " + ", ".join(f"t{n.index}" for n in nodes)]


def _run(
    writer: _Writer,
    operations: Sequence[Expression],
    outputs: Sequence[Expression],
    groups: Sequence[str],
) -> list[str]:
    """Write `run`, in parts where it is long."""
    arguments = ", ".join(["like", "p", *groups])
    out = {n.index for n in outputs}
    chunks = [
        operations[start : start + LONGEST]
        for start in range(0, len(operations), LONGEST)
    ]
    lines: list[str] = []
    calls: list[str] = []
    for number, chunk in enumerate(chunks):
        later = {a.index for c in chunks[number + 1 :] for n in c for a in n.arguments}
        used = {a.index for n in chunk for a in n.arguments}
        earlier = sorted(used & writer.computed)
        leaving = [n for n in chunk if n.index in later or n.index in out]
        body = _body(writer, chunk, leaving)
        if len(chunks) == 1:
            calls = body
            break
        entering = "".join(f", t{i}" for i in earlier)
        lines += [f"def part_{number}({arguments}{entering}):", *body]
        lines += [f"    return ({''.join(f't{n.index}, ' for n in leaving)})", ""]
        gone = [i for i in earlier if i not in later and i not in out]
        calls.append(
            f"    ({''.join(f't{n.index}, ' for n in leaving)}) = "
            f"part_{number}({arguments}{entering})"
        )
        if gone:
            calls.append("    del " + ", ".join(f"t{i}" for i in gone))
    # what is no row yet becomes one once, however often it is asked for
    rows = _rows(outputs)
    spread = {n.index: n for n in outputs if n.index not in rows}
    calls += [f"    r{i} = row({writer.text(n)}, like)" for i, n in spread.items()]
    results = "".join(
        (f"r{n.index}" if n.index in spread else writer.text(n)) + ", " for n in outputs
    )
    return [*lines, f"def run({arguments}):", *calls, f"    return ({results})"]
