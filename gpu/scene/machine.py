"""What computes a scene's steps: parts that it is given, so that any can be put in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from isoscope.gpu.contact.report import ContactReport
    from isoscope.gpu.dynamics.dynamics import Kinematics
    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import StepOutcome
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.transfer import Ledger

# Of an integrator or its solver: a tolerance, a cap, a name.
Setting: TypeAlias = "float | int | str | bool"


@dataclass(frozen=True, slots=True)
class Machine:
    """The parts that compute steps and what there is to read.

    Attributes
    ----------
    step
        ``step(q, v, h, control, parameters)``; leaves what it is given as it is.
    kinematics
        ``kinematics(q, v, parameters)``.
    contacts
        ``contacts(kinematics, parameters)``, or None where nothing can touch.
    touching
        Numbers of the links that can touch something.
    block_worlds
        How many worlds to step at a time on a CPU; None: all.
    integrator, dynamics
        What these come from, for whoever needs more than stepping (gradients).
    """

    step: Callable[[Tensor, Tensor, float, Control, Parameters], StepOutcome]
    kinematics: Callable[[Tensor, Tensor, Parameters], Kinematics]
    contacts: Callable[[Kinematics, Parameters], ContactReport] | None = None
    touching: frozenset[int] = frozenset()
    block_worlds: int | None = None
    integrator: Any = None
    dynamics: Any = None


class MachineMaker(Protocol):
    """Makes the parts, again where a setting changed."""

    def __call__(
        self,
        tree: Tree,
        parameters: Parameters,
        settings: Mapping[str, Setting],
        ledger: Ledger,
    ) -> Machine:
        """Make them; what they read back is booked in the ledger.

        Raises
        ------
        SimulationError
            For settings that make no sense.
        """
        ...
