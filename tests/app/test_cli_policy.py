"""Checkpoints of policies: written by collect, run by record, told by info."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.recording.registry import load
from isoscope.core.replay.checkpoint.acting import SavedPolicy
from isoscope.core.replay.checkpoint.bundle import read_checkpoint, write_checkpoint
from isoscope.core.replay.checkpoint.model import Box, Checkpoint, Part, part
from tests.app.cli import as_json, path, printed, refused

if TYPE_CHECKING:
    from pathlib import Path

    Capsys = pytest.CaptureFixture[str]

ENV = "CartPole-v1"  # Gymnasium's, which is quick
OURS = "isoscope/CartPole-v0"


def balancing(gain: float = 1.0, high: float = 3.0) -> Checkpoint:
    """Linear feedback on isoscope's CartPole, scaled to its limits."""
    weights = np.array([[0.2, 0.1, 0.1, 1.0]]) * -gain
    limits = {"low": np.array([-high]), "high": np.array([high])}
    return Checkpoint(
        {
            "policy": part("linear", {"needs": ["connector"]}, {"gain": weights}),
            "connector": part("scale", {}, limits),
        },
        Box(size=4),
        Box(size=1, low=[-high], high=[high], names=["control"]),
    )


@pytest.fixture
def saved(tmp_path: Path) -> str:
    return str(write_checkpoint(tmp_path / "p.policy.safetensors", balancing()))


def recorded(capsys: Capsys, out: Path, policy: str, *more: str) -> str:
    made = ("record", "--env", OURS, "--steps", "12", "--out", str(out))
    printed(capsys, *made, "--policy", policy, *more)
    return str(out)


def test_what_collect_kept_acts_in_record(capsys: Capsys, tmp_path: Path) -> None:
    kept = str(tmp_path / "mlp.policy.safetensors")
    collect = ("collect", "--env", ENV, "--steps", "16", "--envs", "2")
    made = (*collect, "--out", str(tmp_path / "shards"), "--checkpoint", kept)
    printed(capsys, *made)
    told = as_json(capsys, "info", kept)
    assert told["schema"] == "isoscope.policy-info/1"
    assert told["parts"]["policy"]["kind"] == "mlp"
    assert told["parts"]["policy"]["tensors"]["body.0.weight"]["shape"] == [64, 4]
    assert told["action"]["choices"] == 2
    assert "weights that act" in printed(capsys, "info", kept)
    out = tmp_path / "run.isoscope.h5"
    record = ("record", "--env", ENV, "--steps", "30", "--out", str(out))
    printed(capsys, *record, "--policy", kept, "--envs", "2")
    found = as_json(capsys, "info", kept, "--against", str(out))
    assert found["equal"] == found["steps"] > 40
    assert "exists already" in refused(capsys, *made)


def test_collect_keeps_the_network_that_acted(tmp_path: Path) -> None:
    import torch

    from isoscope.core.collection.policies.mlp import MlpPolicy
    from isoscope.core.collection.policies.random import RandomPolicy
    from isoscope.core.collection.policies.saved import checkpoint_of
    from isoscope.core.collection.spaces import ActionSpec
    from isoscope.core.errors import IsoscopeError

    spec = ActionSpec(2, low=(-1.0, -2.0), high=(1.0, 2.0), shape=(2,))
    policy = MlpPolicy(3, spec, 4, seed=5)
    with torch.no_grad():
        policy.network.actor.weight.mul_(500)
    x = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    numbers = policy.network(torch.from_numpy(x))[0][:, :2].detach().numpy()
    wanted = np.clip(numbers, spec.low, spec.high)
    path = write_checkpoint(tmp_path / "x.safetensors", checkpoint_of(policy))
    acted = SavedPolicy(read_checkpoint(path), 6).act(x)
    assert acted == pytest.approx(wanted, abs=1e-5)
    assert (np.abs(wanted) == [1, 2]).any(), "nothing was clipped"
    with pytest.raises(IsoscopeError, match="no weights"):
        checkpoint_of(RandomPolicy(spec, 4))


@pytest.mark.parametrize("envs", ["1", "2"])
def test_recorded_and_held_against(
    capsys: Capsys, tmp_path: Path, saved: str, envs: str
) -> None:
    out = tmp_path / "run.isoscope.h5"
    run = recorded(capsys, out, saved, "--envs", envs)
    found = as_json(capsys, "info", saved, "--against", run)
    assert found["agrees"]
    assert found["equal"] == found["steps"] >= 11 * int(envs)
    labelled = load(out).labelled
    assert labelled is not None
    window = labelled.track("transitions", "action", "value").read(1, 4)
    assert (np.abs(window.values[window.valid]) > 0).all()
    assert "in the recorded range" in printed(capsys, "info", saved, "--against", run)


def test_another_range_is_found(capsys: Capsys, tmp_path: Path, saved: str) -> None:
    run = recorded(capsys, tmp_path / "run.isoscope.h5", saved)
    wide = tmp_path / "wide.policy.safetensors"
    write_checkpoint(wide, balancing(high=30.0))
    found = as_json(capsys, "info", str(wide), "--against", run, status=1)
    assert not found["agrees"]
    assert "control goes from" in found["why"]
    (one,) = found["components"]
    assert (one["declared"], one["saved"]) == ([-3.0, 3.0], [-30.0, 30.0])
    weak = tmp_path / "weak.policy.safetensors"
    write_checkpoint(weak, balancing(gain=0.01))
    assert not as_json(capsys, "info", str(weak), "--against", run, status=1)["agrees"]


def test_half_of_it_is_refused_unless_asked(capsys: Capsys, tmp_path: Path) -> None:
    whole = balancing()
    parts = {"policy": whole.parts["policy"]}
    half = tmp_path / "half.policy.safetensors"
    write_checkpoint(half, Checkpoint(parts, whole.observation, whole.action))
    out = tmp_path / "run.isoscope.h5"
    record = ("record", "--env", OURS, "--steps", "3", "--out", str(out))
    asked = (*record, "--policy", str(half))
    assert "connector" in refused(capsys, *asked)
    assert not out.exists()
    printed(capsys, *asked, "--policy-parts", "policy")
    assert out.exists()


@pytest.mark.parametrize("env", ["isoscope/Pusher-v0", ENV])
def test_another_environment_is_refused(
    capsys: Capsys, tmp_path: Path, saved: str, env: str
) -> None:
    out = tmp_path / "run.isoscope.h5"
    record = ("record", "--env", env, "--steps", "3", "--out", str(out))
    assert "acting by" in refused(capsys, *record, "--policy", saved)
    assert not out.exists()


def test_refused(capsys: Capsys, tmp_path: Path, saved: str) -> None:
    cut = tmp_path / "cut.safetensors"
    with open(saved, "rb") as file:
        cut.write_bytes(file.read()[:300])
    odd = tmp_path / "odd.safetensors"
    write_checkpoint(odd, Checkpoint({"policy": Part("transformer")}))
    out = ("--out", str(tmp_path / "run.isoscope.h5"))
    for policy in (str(cut), str(odd), str(tmp_path / "nowhere.safetensors")):
        refused(capsys, "record", "--env", OURS, "--policy", policy, *out)
        refused(capsys, "info", policy)
    bare = path("shared_cartpole_2env")
    assert "bare recording" in refused(capsys, "info", saved, "--against", bare)
    wrong = ("record", "--env", OURS, "--policy-parts", "policy", *out)
    assert "goes with a checkpoint" in refused(capsys, *wrong)
    assert not (tmp_path / "run.isoscope.h5").exists()
