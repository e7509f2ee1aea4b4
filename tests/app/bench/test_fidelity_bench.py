"""The figures of `isoscope bench fidelity`, with few steps."""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING

import pytest
import torch

from isoscope.app.bench import fidelity_bench, fidelity_contact, fidelity_mujoco
from isoscope.app.main import main
from isoscope.core.errors import ReadError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.scene import Precision


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_cartpole_follows_the_real_engine(precision: Precision) -> None:
    torch.set_num_threads(1)
    errors = fidelity_bench.cartpole_errors(precision)
    assert max(errors.values()) < 5e-3
    # what superdex.md says of a backward Euler step of this model
    assert errors["vertical_ang"] < 3e-4
    assert errors["linear_vel"] < 6e-5
    assert errors["position"] < 1e-5
    assert min(errors.values()) > 0  # it is another program


def test_it_can_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity_bench, "NEWTONS", 11.0)
    assert max(fidelity_bench.cartpole_errors("float64").values()) > 5e-3


def test_without_the_source_tree_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fidelity_bench, "TRUTH", tmp_path / "absent.json")
    with pytest.raises(UsageError, match="in the source tree"):
        fidelity_bench.cartpole_errors("float64")
    broken = tmp_path / "broken.json"
    broken.write_text("{}", "utf-8")
    monkeypatch.setattr(fidelity_bench, "TRUTH", broken)
    with pytest.raises(ReadError, match=r"broken\.json"):
        fidelity_bench.cartpole_errors("float64")


def test_models_move_as_in_mujoco() -> None:
    pytest.importorskip("mujoco")
    figures = fidelity_mujoco.run(steps=60)
    assert figures["mujoco"] < 1e-12
    assert 1e-12 < figures["mujoco_default_speed"] < 1e-2
    assert "mujoco_remedy" not in figures


def test_without_mujoco_the_figures_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    figures = fidelity_mujoco.run()
    assert figures.pop("mujoco_remedy") == fidelity_mujoco.REMEDY
    assert set(figures.values()) == {None}
    assert "mujoco" in figures


def test_errors_of_contact_shrink_with_the_step() -> None:
    figures = fidelity_contact.run((4e-3, 2e-3), (2e-2, 1e-2))
    for name in ("bounce", "sliding"):
        coarse, fine = figures[name]
        assert fine < 0.8 * coarse
    assert figures["resting_depth"] < 1e-9


def test_the_command_prints_the_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        fidelity_bench, "run", lambda: {"runs": 1, "max_abs_error": 0.0016}
    )
    assert main(["bench", "fidelity", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["name"], said["max_abs_error"]) == ("fidelity", 0.0016)
    assert main(["bench", "fidelity"]) == 0
    assert "max_abs_error" in capsys.readouterr().out
