"""What contact is given: the motion of links, and the numbers of the law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class LinkMotion(Protocol):
    """What contact needs of `isoscope.gpu.dynamics`' kinematics, in the world's axes.

    Attributes
    ----------
    position
        Of each link's origin [L, 3, W], m.
    matrix
        Rotation, row by row [L, 9, W].
    linear
        Of each link's origin [L, 3, W], m/s.
    angular
        Angular velocity [L, 3, W], rad/s.
    """

    @property
    def position(self) -> Tensor: ...  # noqa: D102
    @property
    def matrix(self) -> Tensor: ...  # noqa: D102
    @property
    def linear(self) -> Tensor: ...  # noqa: D102
    @property
    def angular(self) -> Tensor: ...  # noqa: D102


class ContactNumbers(Protocol):
    """What contact needs of `isoscope.gpu.model.parameters.Parameters`.

    Attributes
    ----------
    friction
        Coulomb's coefficient of each shape of the tree, [S, 1] or [S, W].
    contact_stiffness, contact_damping, slip_speed
        [1, 1] or [1, W]: N/m, s/m, m/s.
    """

    @property
    def friction(self) -> Tensor: ...  # noqa: D102
    @property
    def contact_stiffness(self) -> Tensor: ...  # noqa: D102
    @property
    def contact_damping(self) -> Tensor: ...  # noqa: D102
    @property
    def slip_speed(self) -> Tensor: ...  # noqa: D102
