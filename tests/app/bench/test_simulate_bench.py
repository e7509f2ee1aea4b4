"""What `isoscope bench simulate` measures can be measured; how fast is not tested."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.app.bench import (
    simulate_bench,
    simulate_ledger,
    simulate_mujoco,
    simulate_superdex,
)
from isoscope.core.bench import Bench, this_machine
from isoscope.core.jsonform import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

STAND_IN = """
import sys
print("a library says something", flush=True)
print("ready", flush=True)
for line in sys.stdin:
    print("more of it", flush=True)
    print(f"took {float(line) / 4}", flush=True)
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(simulate_bench, "OURS", {"cartpole": 2, "arm7": 1})
    monkeypatch.setattr(simulate_bench, "THEIRS", {"cartpole": 2, "arm7": 1})
    monkeypatch.setattr(simulate_bench, "GROWTH_STEPS", {simulate_bench.WORLDS: 1})
    monkeypatch.setattr(simulate_bench, "BATCH_STEPS", 1)
    monkeypatch.setattr(simulate_ledger, "STEPS", 2)
    yield
    torch.set_num_threads(threads)


def stand_in(
    monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, python: str | None
) -> None:
    script = folder / "side.py"
    script.write_text(text, "utf-8")
    monkeypatch.setattr(simulate_superdex, "SCRIPT", script)
    found = None if python is None else Path(python)
    monkeypatch.setattr(simulate_superdex, "find_python", lambda *_: found)


def measured() -> dict[str, Any]:
    figures = simulate_bench.run(worlds=8, many=16, rounds=5)
    runs = figures.pop("runs")
    report = Bench("simulate", this_machine(), runs, figures).written()
    assert encode(report)
    return report


def test_every_side_is_measured_and_both_raw_figures_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("mujoco")
    stand_in(monkeypatch, tmp_path, STAND_IN, sys.executable)
    said = measured()
    for over, under, name in (
        ("native_cartpole", "mujoco_cartpole", "ratio_mujoco_cartpole"),
        ("native_arm", "mujoco_arm", "ratio_mujoco_arm"),
        ("batch_many", "superdex", "ratio_superdex"),
        ("batch", "superdex", "ratio_superdex_worlds"),
        ("step_many_s", "step_worlds_s", "ratio_growth"),
    ):
        assert said[name] == said[over] / said[under] > 0
    for side in ("native_cartpole", "mujoco_arm", "batch", "superdex"):
        assert len(said[f"{side}_all"]) == said["runs"] == 5
        assert said[f"warmup_{side}"] > 0
    # the stand-in takes a quarter of a second a step
    assert said["superdex"] == pytest.approx(64 * 2 * 4)
    assert said["valid_cartpole"]
    assert said["valid_arm"]
    assert said["ledger_cpu"] == 0.0
    assert (said["ledger"] is None) is not torch.cuda.is_available()


@pytest.mark.parametrize(
    ("python", "text", "why"),
    [
        (None, STAND_IN, "no CPython 3.12 that starts"),
        (sys.executable, "raise SystemExit(1)", "does not run in"),
    ],
)
def test_a_side_that_is_not_there_is_null_with_a_remedy(
    python: str | None,
    text: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    stand_in(monkeypatch, tmp_path, text, python)
    monkeypatch.setattr(simulate_mujoco, "installed", lambda: False)
    said = measured()
    nothing = ("ratio_mujoco_cartpole", "ratio_mujoco_arm", "ratio_superdex")
    assert [said[name] for name in nothing] == [None, None, None]
    assert said["native_cartpole"] > 0
    assert why in said["superdex_remedy"]
    assert "ISOSCOPE_SUPERDEX_PYTHON" in said["superdex_remedy"]
    assert "pip install" in said["mujoco_remedy"]


def test_an_engine_that_goes_away_leaves_no_ratio(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = 'print("ready", flush=True)\ninput()\nraise SystemExit(1)\n'
    stand_in(monkeypatch, tmp_path, gone, sys.executable)
    side, why = simulate_superdex.SuperDex.start()
    assert side is not None
    assert why == ""
    assert side.step(3) is None
    assert side.step(3) is None
    side.close()
