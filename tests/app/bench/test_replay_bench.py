"""The benchmark of re-simulation measures what it says, on a short recording."""

from __future__ import annotations

import pytest

from isoscope.app.bench import replay_bench


def test_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_bench, "CONTROL_STEPS", 12)
    monkeypatch.setattr(replay_bench, "EVERY", 4)
    monkeypatch.setattr(replay_bench, "COMPARED", 3)
    monkeypatch.setattr(replay_bench, "JUMPS", 2)
    monkeypatch.setattr(replay_bench, "ROUNDS", 5)
    found = replay_bench.run()
    assert found["runs"] == 5
    assert found["bit_for_bit"] is True
    assert found["ratio_jump"] == pytest.approx(found["jump_s"] / found["bare_s"])
    assert found["ratio_compare"] == pytest.approx(
        found["compare_s"] / found["reading_s"]
    )
