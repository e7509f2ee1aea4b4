"""``isoscope demo`` from the command line, and the written form of what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.app import environments
from isoscope.app.main import main
from isoscope.core.demo import Demo
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.envs.manager import context
from isoscope.core.jsonform import decode
from tests.core.envs.rail_scene import make_rail_scene

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = [
    "schema",
    "task",
    "envs",
    "scene",
    "device",
    "precision",
    "policy",
    "seed",
    "autoreset",
    "workers",
    "control_hz",
    "simulation_hz",
    "control_steps",
    "seconds",
    "control_steps_per_s",
    "native_steps_per_s",
    "episodes",
    "returns",
    "solver",
    "ledger",
    "faults",
    "problems",
    "ended",
]
RUN = ["demo", "--headless", "--device", "cpu", "--envs", "2", "--steps", "3"]


@pytest.fixture(autouse=True)
def few_threads() -> Iterator[None]:
    torch.set_num_threads(1)
    yield
    context._managers.clear()


def test_what_is_printed_has_the_written_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fault = "missed-restore@1:1/2"
    assert main([*RUN, "--json", "--fault", fault]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    said = json.loads(captured.out)
    assert list(said) == KEYS
    assert decode(captured.out.encode(), Demo).task == "CartPole"
    assert (said["schema"], said["envs"], said["scene"]) == (
        "isoscope.demo/1",
        2,
        "shared",
    )
    assert said["native_steps_per_s"] == pytest.approx(2 * said["control_steps_per_s"])
    assert said["returns"] == {"mean": None, "min": None, "max": None, "count": 0}
    assert said["solver"] == {"converged": 12, "stopped": 0, "diverged": 0}
    assert set(said["ledger"]) == {
        "h2d_bytes",
        "d2h_bytes",
        "d2d_bytes",
        "syncs",
        "by_cause",
    }
    assert said["faults"] == [
        {
            "name": "missed-restore",
            "place": "1:1/2",
            "happened": ["1:1/2"],
            "finds": ["missed-restore"],
        }
    ]


def test_the_table_says_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    assert main([*RUN, "--fault", "aliasing@0:7/1", "--scene", "independent"]) == 0
    captured = capsys.readouterr()
    assert "2 environments (independent, cpu, float64)" in captured.out
    assert "aliasing@0:7/1 was never reached" in captured.err


def test_a_cleanup_that_fails_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    assert main([*RUN, "--json", "--fault", "failing-cleanup@0:1/0"]) == 0
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert said["faults"][0]["happened"] == ["0:1/0"]
    assert "the scene is kept" in said["problems"][0]
    assert "the scene is kept" in captured.err


def test_the_faults_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--list-faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(all_faults()) + 1
    assert main(["demo", "--list-faults", "--json"]) == 0
    listed: Any = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed["faults"]] == list(all_faults())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "Nope"], "making task Nope: there are CartPole"),
        (["--fault", "nope@0:1/1"], "there is no fault 'nope'"),
        (["--fault", "missed-restore"], "is no NAME@ENV:EPISODE/K"),
        (["--fault", "missed-restore@7:1/1"], "there is no environment 7"),
        (["--control-hz", "33"], "no multiple of 33 Hz"),
        (["--envs", "0"], "0 environments"),
        (["--envs", "100000"], "give 10000 or fewer, or take --scene resident"),
        (
            ["--envs", "99999999999", "--scene", "resident"],
            "99999999999 environments with --scene resident; give 1048576 or fewer",
        ),
        (["--envs", "9000", "--workers", "9000"], "give 256 or fewer"),
        (["--steps", "0"], "0 steps"),
        (["--seed", "-1"], "the seed -1"),
        (["--workers", "3"], "a number of workers that divides them"),
        (["--workers", "2", "--scene", "resident"], "workers and a resident scene"),
        (["--device", "tpu"], "tpu"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json"], "--json is for --headless"),
        (["--speed", "-1"], "give 0 for as fast as it can"),
        (["--chunk", "-2"], "give 0 or more"),
        (["--seconds", "-1"], "give 0 or more"),
        (["--envs", "0"], "give 1 or more"),
    ],
)
def test_what_can_not_be_watched_is_said_before_a_window_opens(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *arguments]) == 2
    assert said in capsys.readouterr().err
