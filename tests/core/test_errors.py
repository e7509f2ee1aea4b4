from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.errors import (
    CancelledError,
    IsoscopeError,
    MissingExtraError,
    PositionError,
    ReadError,
    UsageError,
    one_line,
)


@given(st.text())
def test_any_text_becomes_one_printable_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert line == line.strip()
    assert one_line(line) == line


def test_terminal_escapes_do_not_get_through() -> None:
    assert one_line("a\x1b[31mred\x07\n\tb") == "a�[31mred� b"


def test_a_read_error_says_what_where_and_what_to_do() -> None:
    error = ReadError(
        "reading the index of",
        "run.h5",
        "Unable to open\nobject",
        where="/events/7",
        remedy="record again",
    )
    assert str(error) == (
        "reading the index of run.h5 at /events/7: Unable to open object; record again"
    )
    assert (error.path, error.where, error.remedy) == (
        "run.h5",
        "/events/7",
        "record again",
    )
    assert str(ReadError("opening", "run.h5", "no such file")) == (
        "opening run.h5: no such file"
    )


def test_a_missing_extra_says_what_to_type() -> None:
    error = MissingExtraError("the window", "app", "PySide6")
    assert str(error).endswith("run: pip install 'isoscope[app]'")
    assert error.extra == "app"


def test_all_are_told_with_status_2() -> None:
    for error in (
        ReadError("a", "b", "c"),
        UsageError("a"),
        PositionError("a"),
        CancelledError("a"),
        MissingExtraError("a", "b", "c"),
    ):
        assert isinstance(error, IsoscopeError)
        assert error.exit_status == 2
