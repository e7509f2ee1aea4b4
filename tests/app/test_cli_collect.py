"""`isoscope collect`: what it writes and prints, and how it refuses."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.app.bench import collect_bench
from isoscope.app.main import main
from isoscope.core.replay.checkpoint.bundle import read_checkpoint
from tests.app.test_cli import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL = ("--env", "CartPole-v1", "--envs", "4", "--chunk", "4", "--steps", "32")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """See that the command leaves torch's threads as they were."""
    before = torch.get_num_threads()
    yield
    assert torch.get_num_threads() == before


def collected(out: Path, *more: str) -> int:
    return main(["collect", *SMALL, "--out", str(out), *more])


@pytest.mark.parametrize("mode", ["rollout", "pipeline", "lerobot"])
@pytest.mark.parametrize("runner", ["sync", "async"])
def test_shards_are_written_and_counted(
    mode: str, runner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert collected(out, "--mode", mode, "--runner", runner, "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    said = json.loads(captured.out)
    assert said["schema"] == "isoscope.collect/1"
    assert said["chunks"] == {
        **dict.fromkeys(("policy_parts", "env_parts", "joined", "flushed"), 8),
        **dict.fromkeys(("failed", "duplicates", "pending"), 0),
    }
    assert said["outputs"][0]["mode"] == mode
    assert 0 < said["transitions"] <= 4 * 32
    assert set(said["returns"]) == {"mean", "min", "max", "count"}
    manifest = json.loads((out / "manifest.json").read_text())
    assert [shard["file"] for shard in manifest["shards"]] == said["shards"]
    for shard in manifest["shards"]:
        content = (out / shard["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == shard["sha256"]


def test_decoupled_workers_are_collected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--runner", "decoupled", "--workers", "2", "--horizon", "16", "--json")
    assert collected(tmp_path / "out", *more) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["chunks"]["flushed"] == 16
    assert said["chunks"]["pending"] == 0
    assert said["outputs"][0]["count"] == 4


def test_people_are_told_in_a_few_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert collected(out, "--policy", "linear") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["chunks", "8", "flushed", "of", "8", "joined"]
    assert lines[-1].split()[:3] == ["written", "1", "shards"]
    assert "128 in" in lines[1]


def test_what_is_there_is_not_replaced_unless_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert collected(out) == 0
    before = (out / "manifest.json").read_bytes()
    assert collected(out, "--seed", "1") == 2
    said = one_line(capsys.readouterr().err)
    assert "something in it already" in said
    assert (out / "manifest.json").read_bytes() == before
    assert collected(out, "--seed", "1", "--overwrite") == 0
    assert (out / "manifest.json").read_bytes() != before


def test_a_kept_policy_is_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one of the program's own environments, by its plain name."""
    kept, again = (tmp_path / f"{name}.policy.safetensors" for name in "ab")
    small = ("collect", "--env", "isoscope/CartPole-v0", "--envs", "2", "--steps", "8")
    first = (*small, "--out", str(tmp_path / "one"), "--checkpoint", str(kept))
    assert main(first) == 0
    # Another seed makes other weights, unless they are taken from the file.
    more = ("--policy", str(kept), "--seed", "5", "--checkpoint", str(again))
    assert main((*small, "--out", str(tmp_path / "two"), *more)) == 0
    one, two = read_checkpoint(kept), read_checkpoint(again)
    assert one.parts["policy"].same(two.parts["policy"])
    assert not one.parts["rng"].same(two.parts["rng"])
    assert one.about["env"] == "isoscope/CartPole-v0"
    capsys.readouterr()
    for wrong, said in (
        (("--chunk", "2"), "chunks of 4 actions, and here are 2; give --chunk 4"),
        (("--env", "CartPole-v1"), "the environment's actions are other ones"),
    ):
        bad = (*small, "--policy", str(kept), *wrong, "--out", str(tmp_path / "no"))
        assert main(bad) == 2
        assert said in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--env", "Nothing-v9"), "making 1 environments Nothing-v9"),
        (("--steps", "30"), "30 steps are not whole chunks of 4; give 28 or 32"),
        (("--envs", "0"), "envs is 0"),
        (("--mode", "other"), "invalid value for '--mode'"),
        (("--mode", "pipeline", "--runner", "decoupled"), "does not support"),
        (("--mode", "pipeline", "--policy", "random"), "take mlp, or another mode"),
        (("--mode", "pipeline", "--micro-batch", "7"), "micro batches of 7 rows"),
        (("--mode", "pipeline", "--micro-batch", "0"), "micro_batch is 0"),
        (("--policy", "linear", "--checkpoint", "no.safetensors"), "has no weights"),
        (("--workers", "3"), "can't be divided among 3 workers"),
        (("--chunk", "x"), "invalid value for '--chunk'"),
        (("--policy", "other"), "--policy other: give random, linear, mlp, or a"),
        (("--policy", "none.safetensors"), "reading the checkpoint none.safetensors"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    more: tuple[str, ...],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert collected(tmp_path / "out", *more) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in one_line(captured.err)
    assert not (tmp_path / "out").exists()


def test_what_is_missing_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing: Any = None
    for name in list(sys.modules):
        if name.startswith("isoscope.core.collection"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", missing)
    assert collected(tmp_path / "out") == 2
    said = one_line(capsys.readouterr().err)
    assert "collecting needs gymnasium" in said
    assert "pip install 'isoscope[sim]'" in said


def test_the_help_needs_no_torch() -> None:
    code = (
        "import sys; from isoscope.app.main import main\n"
        "try: main(['collect', '--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--runner" in done.stdout


# -- the benchmark ---------------------------------------------------------------------


def test_the_benchmark_says_its_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(collect_bench, "ROUNDS", 5)
    monkeypatch.setattr(collect_bench, "TIMES", 8)
    monkeypatch.setattr(collect_bench, "PENDING_ROUNDS", 5)
    monkeypatch.setattr(collect_bench, "MANY", 500)
    assert main(["bench", "collect", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["name"] == "collect"
    assert said["runs"] == 5
    for name in ("ratio_time", "ratio_pending", "ratio_observe"):
        assert 0 < said[name] == said["figures"][name]
    if said["ratio_memory"] is not None:  # what the system tells is no matter of luck
        assert 1.5 < said["ratio_memory"] <= 2.2
    assert said["events"] == 8 * 64 * 5
