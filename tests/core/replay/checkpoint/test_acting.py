"""A saved policy acts as what was saved, and keeps its hidden state right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.replay.checkpoint.acting import SavedPolicy
from isoscope.core.replay.checkpoint.bundle import read_checkpoint, write_checkpoint
from isoscope.core.replay.checkpoint.model import (
    Checkpoint,
    CheckpointError,
    Part,
    part,
)
from isoscope.core.replay.checkpoint.pieces import Chance, Connector, Normaliser
from isoscope.core.replay.checkpoint.restoring import restore
from tests.core.replay.checkpoint.policies import A, H, S, chunked, layered, recurrent

if TYPE_CHECKING:
    from pathlib import Path

Array = Any


def observations(steps: int, batch: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(steps, batch, S))


def test_by_hand() -> None:
    """Normalised, one recurrent step from the initial state, scaled to its limits."""
    checkpoint = recurrent()
    t = {name: one.tensors for name, one in checkpoint.parts.items()}
    x = observations(1, 1)[0, 0]
    seen = (x - t["normaliser"]["mean"]) / np.sqrt(t["normaliser"]["var"] + 1e-8)
    seen = np.clip(seen, -5, 5)
    p = t["policy"]
    hidden = np.tanh(
        p["input"] @ seen + p["bias"] + p["recurrent"] @ t["hidden"]["initial"]
    )
    number = np.clip(p["head"] @ hidden + p["head_bias"], -1, 1)
    low, high = t["connector"]["low"], t["connector"]["high"]
    wanted = low + (number + 1) / 2 * (high - low)
    assert SavedPolicy(checkpoint).act(x[None])[0] == pytest.approx(wanted, rel=1e-6)


def test_it_goes_on_from_where_it_was_saved(tmp_path: Path) -> None:
    seen = observations(12, 2)
    for checkpoint in (recurrent(), layered(), layered(choices=3)):
        one = SavedPolicy(checkpoint, 2)
        for x in seen[:5]:
            one.act(x)
        path = write_checkpoint(tmp_path / "x", one.save(), overwrite=True)
        two = SavedPolicy(read_checkpoint(path), 2)
        for x in seen[5:]:
            assert np.array_equal(one.act(x), two.act(x))


# -- hidden state ----------------------------------------------------------------------


@settings(max_examples=40)
@given(data=st.data(), batch=st.integers(1, 3))
def test_each_episode_is_as_if_it_were_alone(data: Any, batch: int) -> None:
    """Episodes of any lengths, in a vector that resets with a step of its own."""
    steps = 14
    ends = data.draw(
        st.lists(
            st.lists(st.booleans(), min_size=steps, max_size=steps),
            min_size=batch,
            max_size=batch,
        )
    )
    seen = observations(steps, batch)
    policy = SavedPolicy(recurrent(), batch)
    begins, skips = np.ones(batch, np.bool_), np.zeros(batch, np.bool_)
    alone: list[SavedPolicy | None] = [None] * batch
    for step in range(steps):
        acted = policy.act(seen[step], begins, skips)
        for env in range(batch):
            if skips[env]:
                continue  # only a reset: what is acted there is ignored
            if begins[env]:
                alone[env] = SavedPolicy(recurrent(), 1)
            own = alone[env]
            assert own is not None
            assert np.array_equal(own.act(seen[step, env][None])[0], acted[env])
        ended = np.array([ends[env][step] for env in range(batch)]) & ~skips
        begins, skips = skips, ended


def test_a_slot_that_only_resets_does_not_advance_it() -> None:
    policy = SavedPolicy(recurrent(), 2)
    assert policy.hidden is not None
    x = observations(3, 2)
    policy.act(x[0])
    before = policy.hidden.state.copy()
    policy.act(x[1], np.array([False, False]), np.array([True, False]))
    assert np.array_equal(policy.hidden.state[0], before[0])
    assert not np.array_equal(policy.hidden.state[1], before[1])
    policy.act(x[2], np.array([True, False]))
    fresh = SavedPolicy(recurrent(), 1)
    assert fresh.hidden is not None
    fresh.act(x[2, :1])
    assert np.array_equal(policy.hidden.state[0], fresh.hidden.state[0])


def test_a_state_of_another_batch_begins_anew() -> None:
    saved = SavedPolicy(recurrent(), 3)
    saved.act(observations(1, 3)[0])
    other = SavedPolicy(saved.save(), 2)
    assert other.hidden is not None
    assert (other.hidden.state == other.hidden.initial).all()


# -- chunks ----------------------------------------------------------------------------


def test_a_chunk_is_taken_action_by_action() -> None:
    """All of it is of the observation that it was made of; then the next is made."""
    checkpoint, seen = chunked(3), observations(8, 1)
    gain = checkpoint.parts["policy"].tensors["one.weight"]
    policy = SavedPolicy(checkpoint)
    for step, x in enumerate(seen):
        made_of = seen[step - step % 3, 0]
        wanted = (gain @ made_of).reshape(3, A)[step % 3]
        assert policy.act(x)[0] == pytest.approx(wanted, rel=1e-5)


def test_an_episode_begins_with_a_chunk_of_its_own() -> None:
    """Also in the middle of another row's chunk; a slot that only resets has none."""
    checkpoint, seen = chunked(3, choices=4), observations(7, 2)
    policy = SavedPolicy(checkpoint, 2)
    begins = np.zeros((7, 2), np.bool_)
    skips = np.zeros((7, 2), np.bool_)
    skips[1, 1], begins[2, 1] = True, True
    acted = [policy.act(*each) for each in zip(seen, begins, skips, strict=True)]
    whole, begun = SavedPolicy(checkpoint), SavedPolicy(checkpoint)
    assert [a[0] for a in acted] == [whole.act(x[:1])[0] for x in seen]
    assert [a[1] for a in acted[2:]] == [begun.act(x[1:])[0] for x in seen[2:]]


def test_each_action_of_a_chunk_is_drawn() -> None:
    drawn, plain = SavedPolicy(chunked(2, spread=0.5)), SavedPolicy(chunked(2))
    off = np.array([drawn.act(x) - plain.act(x) for x in observations(400, 1)])
    assert off.reshape(200, 2 * A).std(0) == pytest.approx(0.5, rel=0.25)


# -- half of it ------------------------------------------------------------------------


@pytest.mark.parametrize("lacking", ["normaliser", "connector", "hidden"])
def test_half_of_it_is_refused_unless_asked(lacking: str) -> None:
    checkpoint = recurrent()
    parts = {k: v for k, v in checkpoint.parts.items() if k != lacking}
    half = Checkpoint(parts, checkpoint.observation, checkpoint.action)
    with pytest.raises(CheckpointError, match=lacking):
        SavedPolicy(half)
    asked = SavedPolicy(half, 1, ["policy"])
    assert asked.restored == ("policy",)
    assert asked.act(observations(1, 1)[0]).shape == (1, A)
    with pytest.raises(CheckpointError, match="without its weights"):
        SavedPolicy(half, 1, ["rng"])
    with pytest.raises(CheckpointError):
        SavedPolicy(half, 1, ["policy", lacking])


def test_one_side_only() -> None:
    checkpoint = Checkpoint({"connector": part("none"), "rng": layered().parts["rng"]})
    with pytest.raises(CheckpointError, match="nothing takes its rng"):
        restore(checkpoint, {"connector": Connector(2)})
    into: dict[str, Any] = {"connector": Connector(2), "rng": Chance()}
    into["normaliser"] = Normaliser(2)
    with pytest.raises(CheckpointError, match="has no normaliser"):
        restore(checkpoint, into)
    assert restore(checkpoint, into, ["rng"]) == ("rng",)
    for wrong in (["normaliser"], ["brain"], []):
        with pytest.raises(CheckpointError):
            restore(checkpoint, into, wrong)


def test_nothing_is_half_restored() -> None:
    normaliser, connector = Normaliser(2), Connector(2)
    tensors = {"mean": np.ones(2), "var": np.ones(2)}
    bad = Checkpoint(
        {
            "normaliser": part("mean_var", {}, tensors),
            "connector": part("clip", {}, {"low": np.ones(2), "high": np.zeros(2)}),
        }
    )
    with pytest.raises(CheckpointError, match="above the high"):
        restore(bad, {"normaliser": normaliser, "connector": connector})
    assert (normaliser.mean == 0).all()


# -- what doesn't fit ------------------------------------------------------------------


def tensors(name: str, **changed: Any) -> Part:
    one = recurrent().parts[name]
    return Part(one.kind, one.settings, {**one.tensors, **changed})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("policy", tensors("policy", input=np.zeros((H, S, 1)))),
        ("policy", tensors("policy", recurrent=np.zeros((H, H + 1)))),
        ("policy", tensors("policy", head=np.zeros((A, H + 1)))),
        ("policy", tensors("policy", bias=np.full(H, np.nan))),
        ("policy", tensors("policy", bias=np.zeros(H, np.int64))),
        ("policy", tensors("policy", input=np.zeros((H, 0)))),
        ("policy", Part("transformer")),
        ("policy", Part("mlp", {"layers": ["one"]}, {})),
        ("policy", Part("mlp", {"layers": 3}, {})),
        ("policy", Part("mlp", {"layers": ["a"], "activation": "relu"}, {})),
        ("normaliser", tensors("normaliser", mean=np.zeros(S + 1))),
        ("normaliser", tensors("normaliser", var=-np.ones(S))),
        ("normaliser", Part("mean_var", {"epsilon": "x"}, {})),
        ("connector", tensors("connector", low=np.zeros(A + 1))),
        ("hidden", tensors("hidden", initial=np.zeros(H + 1))),
        ("hidden", Part("lstm")),
        ("rng", Part("pcg64", {"state": "x", "inc": "1"})),
        ("rng", Part("pcg64", {})),
    ],
)
def test_parts_that_do_not_fit(name: str, wrong: Part) -> None:
    with pytest.raises(CheckpointError) as told:
        SavedPolicy(recurrent(**{name: wrong}))
    assert "\n" not in str(told.value)


def test_observations_of_another_size() -> None:
    with pytest.raises(CheckpointError, match="the policy takes"):
        SavedPolicy(recurrent()).act(np.zeros((1, S + 1)))


def test_rows_do_not_depend_on_each_other() -> None:
    x = observations(1, 3)[0]
    together = SavedPolicy(recurrent(), 3).act(x)
    for row in range(3):
        alone = SavedPolicy(recurrent(), 1).act(x[row : row + 1])
        assert np.array_equal(alone[0], together[row])
