"""What can go wrong, told to people.

Every error a user can cause derives from :class:`IsoscopeError`. Its text is one line:
what was being done, where in which file, and what to do about it. The command line
prints it and exits with status 2; the window shows it in its message bar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class IsoscopeError(Exception):
    """Base of everything that is told to the user as one line, not as a traceback."""

    exit_status = 2


class ReadError(IsoscopeError):
    """A source that can't be read, or a part of one.

    Parameters
    ----------
    doing
        What was being done, as a participle: ``"reading the event index"``.
    path
        The file.
    problem
        What is wrong, without the library's jargon where that is possible.
    where
        The place inside the file, such as ``"/events/12/actors/219043332097"``.
    remedy
        What the user can do.
    """

    def __init__(
        self,
        doing: str,
        path: str | Path,
        problem: str,
        *,
        where: str = "",
        remedy: str = "",
    ) -> None:
        self.doing = doing
        self.path = str(path)
        self.problem = one_line(problem)
        self.where = where
        self.remedy = remedy
        inside = f" at {where}" if where else ""
        ending = f"; {remedy}" if remedy else ""
        super().__init__(
            printable(f"{doing} {self.path}{inside}: {self.problem}{ending}")
        )


class WriteError(IsoscopeError):
    """What can't be written: a full disk, a folder that is not there."""


class CancelledError(IsoscopeError):
    """The user stopped a long job; what was done until then stays valid."""


class PositionError(IsoscopeError):
    """A position that can't be parsed, or that names nothing in this recording."""


class UsageError(IsoscopeError):
    """Arguments that don't fit together or name something that isn't there."""


class MissingExtraError(IsoscopeError):
    """A command needs a package that the base install leaves out.

    Parameters
    ----------
    what
        What was asked for, such as ``"the window"``.
    extra
        The extra that brings it, such as ``"app"``.
    package
        The package whose import failed.
    """

    def __init__(self, what: str, extra: str, package: str) -> None:
        self.extra = extra
        super().__init__(
            f"{what} needs {package}, which is not installed; "
            f"run: pip install 'isoscope[{extra}]'"
        )


def one_line(text: object) -> str:
    """Squeeze any text, a library's exception say, into one printable line."""
    return printable(" ".join(str(text).split()))


def printable(text: str) -> str:
    """Replace what can't be printed on a line, such as the newline in a file's name."""
    return "".join(c if c.isprintable() else "�" for c in text)
