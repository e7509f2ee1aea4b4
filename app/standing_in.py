"""The built-in simulator with a model of the user's, standing in for another engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.app.extras import needs

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.scene import Scene
    from isoscope.gpu.model.spec import Model

INTEGRATORS = ("backward_euler", "semi_implicit")


def model_scenes(model: str, integrator: str) -> Callable[[int], Scene]:
    """What makes scenes of a model, float64 on the CPU.

    Parameters
    ----------
    model
        A file: JSON (`docs/model-schema.md`) or MJCF; or a name of one that ships.

    Raises
    ------
    IsoscopeError
        If there is no such model, it is not valid, or the simulator is not installed.
    """
    with needs("standing in for an engine"):
        from isoscope.gpu.model.jsonform import load_model
        from isoscope.gpu.model.mjcf.reader import load_mjcf
        from isoscope.gpu.model.named import model_names, named_model
        from isoscope.gpu.scene.make import make_scene

    path = Path(model)
    if model in model_names() and not path.exists():
        found: Model = named_model(model)
    elif path.suffix.lower() == ".xml":
        found = load_mjcf(path).model
    else:
        found = load_model(path)

    def make(worlds: int) -> Scene:
        return make_scene(found, worlds, "cpu", "float64", integrator)

    return make
