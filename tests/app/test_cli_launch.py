"""How `isoscope` and `isoscope open` reach the window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoscope.app.main import main
from isoscope.core.errors import UsageError

Calls = list[tuple[Any, ...]]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What the window was asked to open."""
    calls: Calls = []

    def open_window(*arguments: Any, replay: str | None = None) -> int:
        calls.append((*arguments, replay))
        return 0

    monkeypatch.setattr("isoscope.app.commands.open.open_window", open_window)
    return calls


@pytest.mark.parametrize("arguments", [[], ["open"]])
def test_without_a_file_the_window_opens(arguments: list[str], opened: Calls) -> None:
    assert main(arguments) == 0
    assert opened == [([], None, None, None, None, None, None)]


def test_every_option_reaches_the_window(opened: Calls) -> None:
    files = ["a.h5", "isoscope:?file=b.h5"]
    options = {
        "--seek": "native:3",
        "--layout": "inspect",
        "--theme": "light",
        "--screenshot": "out.png",
        "--size": "1600x1000",
        "--replay": "alone",
    }
    status = main(
        ["open", *files, *(part for pair in options.items() for part in pair)]
    )
    assert status == 0
    expected = (files, "native:3", "inspect", "light", Path("out.png"), "1600x1000")
    assert opened == [(*expected, "alone")]


def test_what_the_window_says_is_the_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **_options: Any) -> int:
        raise UsageError("--size 1: a size is written WIDTHxHEIGHT")

    monkeypatch.setattr("isoscope.app.commands.open.open_window", refuse)
    assert main(["open", "--size", "1"]) == 2
    assert capsys.readouterr().err == (
        "isoscope: --size 1: a size is written WIDTHxHEIGHT\n"
    )
    monkeypatch.setattr("isoscope.app.commands.open.open_window", lambda *_, **_o: 3)
    assert main([]) == 3


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ModuleNotFoundError("No module named 'vispy'", name="vispy"),
            "the window needs vispy, which is not installed; "
            "run: pip install 'isoscope[app]'",
        ),
        (
            ImportError("libEGL.so.1: cannot open shared object file: No such file"),
            "the window can't start: libEGL.so.1: cannot open shared object file: No "
            "such file; apt-get install libegl1",
        ),
    ],
)
def test_what_is_not_installed_is_said(
    error: ImportError,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any, **_o: Any) -> int:
        raise error

    monkeypatch.setattr("isoscope.app.commands.open.open_window", fail)
    assert main([]) == 2
    assert capsys.readouterr().err == f"isoscope: {said}\n"


def test_a_module_of_our_own_that_is_missing_is_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **_o: Any) -> int:
        raise ModuleNotFoundError("No module named 'isoscope.x'", name="isoscope.x")

    monkeypatch.setattr("isoscope.app.commands.open.open_window", fail)
    assert main([]) == 2
    assert "this is a bug" in capsys.readouterr().err
