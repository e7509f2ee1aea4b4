"""Run commands in this process and look at what they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.app.main import main

if TYPE_CHECKING:
    import pytest

RECORDINGS = Path(__file__).parents[1] / "data" / "recordings"


def path(name: str) -> str:
    """The path of one of the real recordings."""
    return str(RECORDINGS / f"{name}.h5")


def printed(
    capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> str:
    """What a command prints on standard output."""
    assert main(list(arguments)) == status
    return capsys.readouterr().out


def as_json(
    capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> dict[str, Any]:
    """The one JSON object that a command prints, whose first key is its schema."""
    out = printed(capsys, *arguments, "--json", status=status)
    assert out.count("\n") == 1
    found: dict[str, Any] = json.loads(out)
    assert next(iter(found)) == "schema"
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is told, on one line of standard error, where a command exits with 2."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("isoscope: ")
    return captured.err.removeprefix("isoscope: ").strip()
