"""What a step copies between host and device when nothing reads the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.gpu.scene.make import BACKWARD_EULER, SEMI_IMPLICIT, make_scene

if TYPE_CHECKING:
    from isoscope.gpu.traffic import Traffic

STEPS, WARMUP = 100, 3
H_S = 0.02


def bytes_per_step(worlds: int) -> dict[str, Any]:
    """Step CartPoles in float32 and ask the ledger.

    Returns
    -------
    dict
        ``ledger``: bytes a step on CUDA, by semi-implicit steps; None without a GPU.
        ``ledger_cpu``: the same booked on the CPU, where host and device are one memory
        and the same is booked. ``…_backward_euler``: by backward Euler, which asks now
        and then whether all worlds have converged. ``…_waits``: how often the host
        waited for the device, a step.
    """
    found: dict[str, Any] = {}
    for device, name in (("cuda", "ledger"), ("cpu", "ledger_cpu")):
        there = device == "cpu" or torch.cuda.is_available()
        for integrator in (SEMI_IMPLICIT, BACKWARD_EULER):
            key = name if integrator == SEMI_IMPLICIT else f"{name}_{integrator}"
            told = _traffic(worlds, device, integrator) if there else None
            found[key] = None if told is None else (told.h2d_bytes + told.d2h_bytes)
            found[f"{key}_waits"] = None if told is None else told.syncs
            for part in (key, f"{key}_waits"):
                if found[part] is not None:
                    found[part] /= STEPS
    return found


def _traffic(worlds: int, device: str, integrator: str) -> Traffic:
    scene = make_scene("cartpole", worlds, device, "float32", integrator)
    try:
        for _ in range(WARMUP):
            scene.step(H_S)
        before = scene.ledger.totals()
        for _ in range(STEPS):
            scene.step(H_S)
        after = scene.ledger.totals()
    finally:
        scene.close()
    kind = type(after)
    return kind(
        *(getattr(after, n) - getattr(before, n) for n in after.__struct_fields__)
    )
