"""The door to simulated scenes: from a model to a scene that steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.gpu.contact.contacts import Contacts
from isoscope.gpu.contact.pairs import touching_pairs
from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.integrators.semi_implicit import SemiImplicitEuler
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.named import named_model
from isoscope.gpu.model.spec import Model
from isoscope.gpu.scene.errors import SceneError
from isoscope.gpu.scene.machine import Machine
from isoscope.gpu.scene.scene import SimulatedScene

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch

    from isoscope.core.scene import Precision
    from isoscope.gpu.integrators.base import ContactLaw, Integrator
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Setting
    from isoscope.gpu.transfer import Ledger

INTEGRATOR = "integrator"


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
        Of the integrator, by names such as ``"integrator.tolerance"``, where they are
        not to be its own; see `integrator_settings`.

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
        chosen[key] = type(chosen[key])(value)
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
    if integrator not in _INTEGRATORS:
        raise SceneError(
            f"choosing the integrator: there is no {integrator!r}; there are "
            + ", ".join(_INTEGRATORS)
        )
    return {INTEGRATOR: integrator, **_INTEGRATORS[integrator][1]}


def make_machine(
    tree: Tree, parameters: Parameters, settings: Mapping[str, Setting]
) -> Machine:
    """Make what computes a tree's steps, with the integrator that the settings name."""
    dynamics = Dynamics(tree, parameters)
    contacts = Contacts(tree)
    law = contacts if contacts.points else None
    make, _ = _INTEGRATORS[str(settings[INTEGRATOR])]
    integrator = make(dynamics, law, settings)
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
        integrator=integrator,
        dynamics=dynamics,
    )


def _semi_implicit(
    dynamics: Dynamics, contacts: ContactLaw | None, settings: Mapping[str, Setting]
) -> Integrator:
    return SemiImplicitEuler(dynamics, contacts)


_INTEGRATORS: dict[
    str,
    tuple[
        Callable[[Dynamics, ContactLaw | None, Mapping[str, Setting]], Integrator],
        dict[str, Setting],
    ],
] = {
    "semi_implicit": (_semi_implicit, {}),
}
