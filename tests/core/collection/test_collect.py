"""Whole runs: every mode with every runner, and their reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file

from isoscope.core.collection.collect import collect
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.report import CollectReport, Returns
from isoscope.core.collection.settings import CollectSettings, PolicyName, Runner
from isoscope.core.jsonform import decode, encode
from isoscope.core.trajectory.plan import TrajectoryMode

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = {"failed": 0, "duplicates": 0, "pending": 0}


def settings(**changes: Any) -> CollectSettings:
    sizes = {"env": "CartPole-v1", "envs": 4, "chunk": 4, "steps": 64, "horizon": 32}
    return CollectSettings(**{**sizes, **changes})


@pytest.mark.parametrize("runner", list(Runner))
@pytest.mark.parametrize("mode", list(TrajectoryMode))
def test_every_mode_runs_with_every_runner(
    mode: TrajectoryMode, runner: Runner, tmp_path: Path
) -> None:
    sizes = {"mode": mode, "runner": runner, "workers": 2, "policy": PolicyName.MLP}
    if (mode, runner) == (TrajectoryMode.PIPELINE, Runner.DECOUPLED):
        with pytest.raises(CollectionError, match="does not support"):
            settings(**sizes)
        return
    run = settings(**sizes)
    done = collect(run, out=tmp_path / "out")
    chunks = msgspec.to_builtins(done.chunks)
    total = 2 * 16  # two sources, 64 steps in chunks of 4
    assert chunks == {
        **dict.fromkeys(("policy_parts", "env_parts", "joined", "flushed"), total),
        **WHOLE,
    }
    assert done.incomplete == []
    assert done.lost == []
    (output,) = done.outputs
    assert output.count == run.outputs_per_step * 2
    assert 0 < done.transitions <= 4 * 64
    assert done.returns.count > 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [s["file"] for s in manifest["shards"]] == done.shards
    assert manifest["run"]["settings"]["mode"] == mode


def test_a_rollout_has_the_contracts_shapes(tmp_path: Path) -> None:
    done = collect(settings(transitions=True), out=tmp_path / "out")
    tensors = load_file(tmp_path / "out" / done.shards[0])
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    t, b, c = 8, 4, 4
    assert shapes == {
        **dict.fromkeys(("actions", "intervene_flags", "prev_logprobs"), (t, b, c)),
        **dict.fromkeys(("versions", "rewards", "forward_inputs.action"), (t, b, c)),
        **dict.fromkeys(("dones", "terminations", "truncations"), (t + 1, b, c)),
        "prev_values": (t + 1, b, 1),
        **dict.fromkeys(("curr_obs.states", "next_obs.states"), (t, b, 4)),
        "forward_inputs.states": (t, b, 4),
    }
    # the state before a chunk is the one after the last, unless an episode ended
    on = ~tensors["dones"][1:-1, :, -1]
    after, before = tensors["next_obs.states"][:-1], tensors["curr_obs.states"][1:]
    assert torch.equal(after[on], before[on])
    second = load_file(tmp_path / "out" / done.shards[1])
    assert (tensors["versions"] == 0).all()
    assert (second["versions"] == 1).all()


def test_episodes_hold_what_the_environment_did(tmp_path: Path) -> None:
    run = settings(mode=TrajectoryMode.LEROBOT, task="keep it up")
    done = collect(run, out=tmp_path / "out")
    lengths = []
    for name in done.shards:
        tensors = load_file(tmp_path / "out" / name)
        for key in [k for k in tensors if k.endswith(".done")]:
            episode = key.removesuffix(".done")
            flags = tensors[key][:, 0]
            assert flags[-1]
            assert not flags[:-1].any()
            assert tensors[f"{episode}.state"].shape == (len(flags), 4)
            assert tensors[f"{episode}.actions"].ge(0).all()
            assert tensors[f"{episode}.actions"].le(1).all()
            lengths.append(len(flags))
    # a step of CartPole earns 1, so lengths and returns are the same numbers
    assert sum(lengths) / len(lengths) == done.returns.mean
    assert (min(lengths), max(lengths)) == (done.returns.min, done.returns.max)


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    def sums(name: str, seed: int) -> list[str]:
        collect(settings(seed=seed), out=tmp_path / name)
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        return [shard["sha256"] for shard in manifest["shards"]]

    assert sums("a", 1) == sums("b", 1)
    assert sums("c", 2) != sums("a2", 1)


def test_actors_share_what_comes_out(tmp_path: Path) -> None:
    done = collect(settings(actors=2), out=tmp_path / "out")
    assert [(o.actor, o.count) for o in done.outputs] == [(0, 2), (1, 2)]
    pipeline = collect(settings(actors=2, mode=TrajectoryMode.PIPELINE))
    assert [o.key for o in pipeline.outputs] == [
        "0_0_pipeline_actor",
        "1_1_pipeline_actor",
    ]
    assert pipeline.shards == []


def test_linear_feedback_keeps_every_pole_up() -> None:
    done = collect(settings(policy=PolicyName.LINEAR, steps=256, horizon=None))
    assert done.transitions == 4 * 256
    assert done.returns == Returns(None, None, None, 0)


@pytest.mark.parametrize("env", ["Pendulum-v1", "Acrobot-v1", "Taxi-v4"])
def test_other_environments_are_collected_too(env: str) -> None:
    for policy in (PolicyName.RANDOM, PolicyName.MLP):
        done = collect(settings(env=env, policy=policy, auto_reset=False))
        assert done.chunks.flushed == 16


def test_episodes_of_observations_in_parts_get_a_state(tmp_path: Path) -> None:
    run = settings(
        env="Blackjack-v1", mode=TrajectoryMode.LEROBOT, policy=PolicyName.RANDOM
    )
    done = collect(run, out=tmp_path / "out")
    tensors = load_file(tmp_path / "out" / done.shards[0])
    assert tensors["episodes.0.state"].shape[1] == 3  # sum, dealer's card, usable ace


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="making 1 environments Nothing-v0"):
        collect(settings(env="Nothing-v0"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(CollectionError, match="gains are known for CartPole only"):
        collect(settings(env="Pendulum-v1", policy=PolicyName.LINEAR))


def test_progress_is_told_after_every_training_step() -> None:
    told: list[tuple[int, int]] = []
    collect(settings(), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_the_report_has_a_written_form() -> None:
    done = collect(settings())
    written = msgspec.json.decode(encode(done))
    assert written["schema"] == "isoscope.collect/1"
    assert set(written["chunks"]) == {
        *("policy_parts", "env_parts", "joined", "flushed"),
        *WHOLE,
    }
    assert set(written["returns"]) == {"mean", "min", "max", "count"}
    assert {"mode", "key", "count"} <= set(written["outputs"][0])
    assert decode(encode(done), CollectReport) == done


def test_a_policy_without_weights_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(CollectionError, match=r"no weights; take --policy mlp"):
        collect(
            settings(policy=PolicyName.LINEAR),
            out=tmp_path / "out",
            record=tmp_path / "run.isoscope.h5",
            checkpoint=tmp_path / "kept.policy.safetensors",
        )
    assert list(tmp_path.iterdir()) == []
