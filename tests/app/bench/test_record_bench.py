"""The recording benchmark where there is no engine, and where it misbehaves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from isoscope.app.bench import record_bench


def test_without_an_engine_there_are_no_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_bench, "engine_python", lambda: None)
    figures = record_bench.run()
    assert figures["ratio_step"] is None
    assert figures["ratio_bytes"] is None
    assert figures["runs"] > 0


def test_a_python_without_the_engine_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(sys.executable)
    monkeypatch.setattr(record_bench, "find_python", lambda version, first: here)
    monkeypatch.setattr(record_bench, "ASK", "import superdex_that_is_not_here")
    assert record_bench.engine_python() is None
    monkeypatch.setattr(record_bench, "ASK", "pass")
    assert record_bench.engine_python() == here


def test_an_engine_that_ends_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nsys.stdin.readline()\nsys.exit(3)\n")
    monkeypatch.setattr(record_bench, "SCRIPT", script)
    python = Path(sys.executable)
    with (
        record_bench.Side(
            python, "plain", "cartpole", tmp_path / "f", tmp_path
        ) as side,
        pytest.raises(record_bench.EngineError, match="status 3"),
    ):
        side.take(1)


def test_an_engine_answers_by_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, isoscope.core.tap\n"
        "print('words of its own')\n"
        "for line in sys.stdin:\n    print(int(line) / 4, flush=True)\n"
        "print(8)\n"
    )
    monkeypatch.setattr(record_bench, "SCRIPT", script)
    python = Path(sys.executable)
    with record_bench.Side(python, "p", "s", tmp_path / "f", tmp_path) as side:
        assert side.take(2) == 0.5
        assert side.end() == 8
