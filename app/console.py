"""How every command talks: results on standard output, all else on standard error.

With ``--json`` standard output holds one JSON object and nothing else. Without it, a
command prints tables: in a terminal with its width and colours, else plain, aligned and
never cut, so that they can be searched.
"""

from __future__ import annotations

import io
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import WriteError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    import msgspec
    from rich.console import Console, RenderableType
    from rich.progress import Progress as Bar
    from rich.table import Table
    from rich.text import Text

    from isoscope.core.recording.source import Progress

PROGRAM = "isoscope"
UNCUT = 100_000  # columns: wide enough that no cell is wrapped when piped
BAR_AFTER_S = 0.4  # work that is done by then shows no bar


# -- results ---------------------------------------------------------------------------


def in_terminal() -> bool:
    """Whether results go to a terminal, and not into a pipe or a file."""
    return sys.stdout.isatty()


def emit_json(report: msgspec.Struct | dict[str, Any]) -> None:
    """Print a report as one JSON object: indented for a terminal, else on one line."""
    from isoscope.core.jsonform import encode

    content = encode(report, indent=2 if in_terminal() else 0)
    with _writing():
        sys.stdout.flush()
        sys.stdout.buffer.write(content + b"\n")  # UTF-8, whatever the terminal's own
        sys.stdout.buffer.flush()


def emit(*parts: RenderableType) -> None:
    """Print parts, a blank line between two; text is taken as it is, without markup.

    A pipe gets no colours, no trailing spaces and lines as long as they need be.
    """
    from rich.console import Console

    shown = [text(part) if isinstance(part, str) else part for part in parts]
    if in_terminal():
        with _writing():
            _print(Console(highlight=False, markup=False, emoji=False), shown)
        return
    lines = io.StringIO()
    plain = Console(
        file=lines,
        width=UNCUT,
        color_system=None,
        force_terminal=False,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    _print(plain, shown)
    with _writing():
        sys.stdout.writelines(
            f"{line.rstrip()}\n" for line in lines.getvalue().split("\n")[:-1]
        )
        sys.stdout.flush()


@contextmanager
def _writing() -> Iterator[None]:
    """Say in one line that standard output can't be written; a closed pipe is quiet."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        silence_stdout()  # or Python would try once more when it ends
        why = (error.strerror or str(error)).lower()
        raise WriteError(f"writing to standard output: {why}") from None


def _print(console: Console, parts: list[Any]) -> None:
    for number, part in enumerate(parts):
        if number:
            console.print()
        console.print(part)


def text(value: str, style: str = "") -> Text:
    """One line for a cell, exactly as it is: a file's names may hold anything.

    Markup is not read, and what a terminal would obey is replaced.
    """
    from rich.text import Text

    return Text(one_line(value), style)


def table(*columns: str, right: tuple[str, ...] = (), title: str = "") -> Table:
    """An empty table in the house style; `right` names the columns of numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    piped = not in_terminal()
    made = Table(
        box=None if piped else SIMPLE_HEAD,
        title=text(title, "bold") if title else None,
        title_justify="left",
        title_style="",
        header_style="bold",
        show_edge=False,
        pad_edge=False,
        padding=(0, 2, 0, 0) if piped else (0, 1, 0, 0),
    )
    for name in columns:
        made.add_column(
            name,
            justify="right" if name in right else "left",
            overflow="fold",
            no_wrap=name in right,
        )
    return made


def facts(rows: list[tuple[str, str]]) -> Table:
    """Names and values side by side, without a heading."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, text(value))
    return made


# -- everything else -------------------------------------------------------------------


def tell(text: str) -> None:
    """Say one line on standard error."""
    with suppress(OSError):  # nobody listens: the result still counts
        sys.stderr.write(f"{PROGRAM}: {one_line(text)}\n")
        sys.stderr.flush()


def warn(text: str) -> None:
    """Say on standard error what the user should know about the result."""
    tell(f"warning: {text}")


@contextmanager
def progress(doing: str) -> Iterator[Progress | None]:
    """Show a bar on standard error while the block runs, if it is a terminal.

    Gives what to call with (done, total), or None where nobody would see it.
    """
    if not sys.stderr.isatty():
        yield None
        return
    begun = time.monotonic()
    bar: list[Bar] = []

    def report(done: int, total: int) -> None:
        if not bar and time.monotonic() - begun < BAR_AFTER_S:
            return
        if not bar:
            bar.append(_start_bar(doing, done, total))
        bar[0].update(bar[0].task_ids[0], completed=done, total=total)

    try:
        yield report
    finally:
        if bar:
            bar[0].stop()


def _start_bar(doing: str, done: int, total: int) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed} of {task.total}", markup=False),
        console=Console(stderr=True, highlight=False, markup=False, emoji=False),
        transient=True,
    )
    bar.add_task(one_line(doing), completed=done, total=total)
    bar.start()
    return bar


def silence_stdout() -> None:
    """Send what is left for a closed pipe nowhere, so that leaving is quiet."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def prepare_streams() -> None:
    """Let neither a closed stream nor a strange character stop the program."""
    # Python sets a stream to None where it was closed, or under pythonw.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
