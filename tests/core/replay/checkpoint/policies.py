"""Checkpoints to test with."""

from __future__ import annotations

from typing import Any

import numpy as np

from isoscope.core.replay.checkpoint.model import Box, Checkpoint, part
from isoscope.core.replay.checkpoint.networks import mlp_part

S, H, A = 3, 4, 2


def recurrent(seed: int = 0, /, **changed: Any) -> Checkpoint:
    """Every part there is: normaliser, a recurrent layer, connector, generator."""
    r = np.random.default_rng(seed)
    parts = {
        "normaliser": part(
            "mean_var",
            {"epsilon": 1e-8, "clip": 5.0},
            {"mean": r.normal(size=S), "var": r.uniform(0.5, 2, S)},
        ),
        "policy": part(
            "rnn",
            {"needs": ["normaliser", "connector", "hidden"]},
            {
                "input": r.normal(size=(H, S)),
                "recurrent": r.normal(size=(H, H)),
                "bias": r.normal(size=H),
                "head": r.normal(size=(A, H)),
                "head_bias": r.normal(size=A),
            },
        ),
        "connector": part(
            "scale", {}, {"low": np.array([-3.0, 0.0]), "high": np.array([3.0, 1.0])}
        ),
        "hidden": part("rnn", {}, {"initial": r.normal(size=H)}),
        "optimiser": part("adam", {"steps": 7}, {"m": r.normal(size=5)}),
    }
    parts.update(changed)
    return Checkpoint(
        parts,
        Box(size=S),
        Box(size=A, low=[-3.0, 0.0], high=[3.0, 1.0], names=["push", "lift"]),
        {"run": "test"},
    )


def layered(seed: int = 0, *, choices: int = 0, drawn: bool = True) -> Checkpoint:
    """Two layers, with a generator."""
    r = np.random.default_rng(seed)
    outputs = choices or A
    tensors = {
        "one.weight": r.normal(size=(H, S)),
        "one.bias": r.normal(size=H),
        "two.weight": r.normal(size=(outputs, H)),
        "two.bias": r.normal(size=outputs),
    }
    if not choices:
        tensors["log_spread"] = np.full(A, -1.0)
    chance = np.random.PCG64(seed).state
    parts = {"policy": mlp_part(tensors, ["one", "two"])}
    if drawn:
        parts["rng"] = part(
            "pcg64",
            {
                "state": f"{chance['state']['state']:x}",
                "inc": f"{chance['state']['inc']:x}",
                "has_uint32": 0,
                "uinteger": 0,
            },
        )
    size = 1 if choices else A
    return Checkpoint(parts, Box(size=S), Box(size=size, choices=choices))


def chunked(size: int, *, choices: int = 0, spread: float | None = None) -> Checkpoint:
    """Chunks of so many actions, each a row of gains of its own; linear in a layer."""
    r = np.random.default_rng(size)
    outputs = size * (choices or A)
    tensors = {"one.weight": r.normal(size=(outputs, S)), "one.bias": np.zeros(outputs)}
    parts = {"policy": mlp_part(tensors, ["one"])}
    box = Box(size=1 if choices else A, choices=choices)
    if spread is not None:
        tensors["log_spread"] = np.full(outputs, np.log(spread))
        parts = {"policy": mlp_part(tensors, ["one"]), "rng": layered().parts["rng"]}
    return Checkpoint(parts, Box(size=S), box)
