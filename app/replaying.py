"""The built-in simulator as an engine for re-simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.replay.engine import ReplayError

if TYPE_CHECKING:
    from isoscope.core.replay.engine import Blueprint, Engine

ENGINE = "isoscope"


def make_builtin(blueprint: Blueprint) -> Engine:
    """Make the scene of one of the program's own tasks again; an `EngineMaker`.

    Raises
    ------
    IsoscopeError
        If it was another engine's, of another build or precision, of a task or model
        that is not here, or on a device that is not here.
    """
    from isoscope.app.environments import make_scene
    from isoscope.core.envs.tasks.registry import TASKS
    from isoscope.core.replay.scene_engine import SceneEngine

    doing = f"stepping {blueprint.file} again"
    identity = blueprint.identity
    if identity.engine != ENGINE:
        what = identity.engine or "an engine that it doesn't name"
        raise ReplayError(
            f"{doing}: it was recorded from {what}; the built-in simulator takes up "
            "recordings of its own only"
        )
    name = str(identity.extra.get("task", ""))
    task = TASKS.get(name)
    if task is None:
        raise ReplayError(
            f"{doing}: its task {name or '(not told)'} is none of the program's: "
            f"{', '.join(sorted(TASKS))}"
        )
    if blueprint.precision not in ("float32", "float64"):
        raise ReplayError(f"{doing}: its snapshots don't tell their precision")
    device = str(identity.extra.get("device", "cpu"))
    integrator = str(blueprint.configuration.get("integrator", task.integrator))
    scene = make_scene(
        task.model,
        blueprint.worlds,
        device,
        "float32" if blueprint.precision == "float32" else "float64",
        integrator,
    )
    engine = SceneEngine(scene, device)
    try:
        if scene.engine != blueprint.engine:
            raise ReplayError(
                f"{doing}: its snapshots are of {blueprint.engine or 'no build'}, "
                f"and here is {scene.engine}; install that build"
            )
        model = blueprint.configuration.get("model")
        if model is not None and model != engine.configuration()["model"]:
            raise ReplayError(
                f"{doing}: the model {task.model} is not the one that was recorded; "
                "take the version of isoscope that recorded it"
            )
    except BaseException:
        engine.close()
        raise
    return engine
