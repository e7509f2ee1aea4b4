"""The built-in simulator with a model of the user's, standing in for another engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.app.extras import needs

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.stand_in.report import StandInOptions
    from isoscope.core.replay.states import Replayed
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


def predicted(
    examined: Examined,
    options: StandInOptions,
    name: str,
    progress: Callable[[int, int], None],
) -> Replayed:
    """What a model predicts of a recording, to be looked at beside it.

    Parameters
    ----------
    name
        What to call it.
    progress
        Called with steps done and all; what it raises stops it.

    Raises
    ------
    IsoscopeError
        If the model isn't there, or can't express the recording; with the reason.
    """
    from isoscope.core.replay.compare import TOLERANCE
    from isoscope.core.replay.stand_in.report import stand_in
    from isoscope.core.replay.states import Keeper, Replayed

    keeper = Keeper(TOLERANCE)
    make = model_scenes(options.model, options.integrator)
    report = stand_in(examined, make, options, progress, keeper)
    return Replayed(name, report, keeper.states(examined.recording))
