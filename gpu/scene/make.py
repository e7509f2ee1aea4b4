"""The door to simulated scenes: from a model to a scene that steps."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.contact.contacts import Contacts
from isoscope.gpu.contact.pairs import touching_pairs
from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.errors import ParameterError
from isoscope.gpu.integrators.backward_euler import BackwardEuler, BackwardEulerSettings
from isoscope.gpu.integrators.semi_implicit import SemiImplicitEuler
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.named import named_model
from isoscope.gpu.model.spec import Model
from isoscope.gpu.scene.configuration import changed_setting
from isoscope.gpu.scene.errors import ConfigurationError, SceneError
from isoscope.gpu.scene.machine import Machine
from isoscope.gpu.scene.scene import SimulatedScene

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoscope.core.scene import Precision
    from isoscope.gpu.integrators.base import Integrator
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Setting
    from isoscope.gpu.transfer import Ledger

INTEGRATOR = "integrator"
PREFIX = "integrator."
BACKWARD_EULER, SEMI_IMPLICIT = "backward_euler", "semi_implicit"


def make_scene(
    model: Model | Tree | str,
    worlds: int = 1,
    device: str | torch.device = "auto",
    precision: Precision = "float32",
    integrator: str = "backward_euler",
    *,
    name: str | None = None,
    settings: Mapping[str, Setting] | None = None,
    ledger: Ledger | None = None,
    block_worlds: int | None = None,
) -> SimulatedScene:
    """Make a scene of W worlds of a model.

    Parameters
    ----------
    model
        A model, its tree where that is at hand, or the name of one that ships.
    integrator
        ``"backward_euler"`` or ``"semi_implicit"``.
    name
        Of the scene, for messages; None: the model's.
    settings
        Of the integrator, such as ``"integrator.max_iterations"``, where they are to be
        others than its own (`integrator_settings`).

    Raises
    ------
    SimulationError
        For a model, device, precision or setting that can't be had.
    """
    if isinstance(model, str):
        model = named_model(model)
    tree = build_tree(model) if isinstance(model, Model) else model
    chosen = integrator_settings(integrator)
    for key, value in (settings or {}).items():
        if key not in chosen or key == INTEGRATOR:
            raise SceneError(
                f"making scene {name or tree.model.name}: {integrator} has no setting "
                f"{key}; it has {', '.join(list(chosen)[1:]) or 'none'}"
            )
        chosen = changed_setting(chosen, key, np.array(value), None)
    return SimulatedScene(
        name or tree.model.name,
        tree,
        make_machine,
        worlds=worlds,
        device=device,
        precision=precision,
        settings=chosen,
        ledger=ledger,
        block_worlds=block_worlds,
    )


def integrator_settings(integrator: str) -> dict[str, Setting]:
    """An integrator's own settings, by name, its name first.

    Raises
    ------
    SceneError
        If there is no such integrator.
    """
    if integrator not in (BACKWARD_EULER, SEMI_IMPLICIT):
        raise SceneError(
            f"choosing the integrator: there is no {integrator!r}; there are "
            f"{BACKWARD_EULER} and {SEMI_IMPLICIT}"
        )
    settings: dict[str, Setting] = {INTEGRATOR: integrator}
    if integrator == BACKWARD_EULER:
        own = asdict(BackwardEulerSettings())
        settings.update((PREFIX + name, value) for name, value in own.items())
    return settings


def make_machine(
    tree: Tree,
    parameters: Parameters,
    settings: Mapping[str, Setting],
    ledger: Ledger,
) -> Machine:
    """Make what computes a tree's steps, with the integrator that the settings name.

    Raises
    ------
    ConfigurationError
        For settings that make no sense.
    """
    dynamics = Dynamics(tree, parameters)
    contacts = Contacts(tree)
    law = contacts if contacts.points else None
    integrator: Integrator
    if settings[INTEGRATOR] == BACKWARD_EULER:
        given = {
            name.removeprefix(PREFIX): value
            for name, value in settings.items()
            if name != INTEGRATOR
        }
        try:
            chosen = BackwardEulerSettings(**given)  # type: ignore[arg-type]
        except ParameterError as error:
            raise ConfigurationError(str(error)) from error
        integrator = BackwardEuler(dynamics, law, chosen, ledger)
    else:
        integrator = SemiImplicitEuler(dynamics, law)
    links = {
        tree.shapes[shape].link
        for pairs in touching_pairs(tree).values()
        for pair in pairs
        for shape in pair
    }
    return Machine(
        step=integrator.step,
        kinematics=dynamics.kinematics,
        contacts=None if law is None else law.evaluate,
        touching=frozenset(link for link in links if link >= 0),
        block_worlds=dynamics.block_worlds(
            parameters.worlds, parameters.mass.dtype, parameters.mass.device
        ),
        integrator=integrator,
        dynamics=dynamics,
    )
