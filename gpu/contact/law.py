"""The force at a point: a compliant normal force and regularised friction.

Normal, after Hunt and Crossley, Coefficient of Restitution Interpreted as Damping in
Vibroimpact, Journal of Applied Mechanics 42 (1975)::

    N = k s d max(1 + c w, 0),    d = max(-distance, 0)

with the stiffness k [N/m], the point's share s of it, the damping c [s/m] and the speed
w at which the surfaces approach [m/s]. The force begins and ends at zero and never
pulls. What arrives at a low speed w leaves at about w (1 - 2/3 c w).

Friction, Coulomb's law regularised with a root, a smooth and rational law (compare
Marques, Flores, Claro and Lankarani, A Survey and Comparison of Several Friction Force
Models for Dynamic Analysis of Multibody Mechanical Systems, Nonlinear Dynamics 86
(2016))::

    F = -mu N v / sqrt(|v|² + e²)

with the slip v, mu = sqrt(mu_A mu_B), and the slip speed e [m/s]. It is inside the cone
|F| < mu N at any speed. What sticks therefore creeps: under a load of r mu N it moves
at e r / sqrt(1 - r²).
"""

from __future__ import annotations

import torch
from torch import Tensor

from isoscope.gpu.contact.vectors import along, dot


def contact_force(
    distance: Tensor,
    share: Tensor,
    normal: Tensor,
    velocity: Tensor,
    friction: Tensor,
    stiffness: Tensor,
    damping: Tensor,
    slip_speed: Tensor,
) -> Tensor:
    """Compute the force on A at P points.

    Parameters
    ----------
    distance, share
        Gap [m] and part of the stiffness, [P, W].
    normal, velocity
        Unit vector from B to A, and A's velocity against B's [m/s], [P, 3, W].
    friction
        Coefficient of each pair, [P, 1] or [P, W].
    stiffness, damping, slip_speed
        k, c and e, [1, 1] or [1, W].

    Returns
    -------
    Tensor
        [P, 3, W], N; exactly zero where they don't touch.
    """
    depth = torch.clamp(-distance, min=0.0)
    parting = dot(velocity, normal)
    press = stiffness * share * depth * torch.clamp(1.0 - damping * parting, min=0.0)
    slip = velocity - along(normal, parting)
    speed = torch.sqrt(dot(slip, slip) + slip_speed * slip_speed)
    return along(normal, press) - along(slip, friction * press / speed)


def pair_friction(a: Tensor, b: Tensor) -> Tensor:
    """Take the geometric mean of two coefficients, with a finite gradient at zero."""
    product = a * b
    rubs = product > 0
    return torch.where(rubs, torch.sqrt(torch.where(rubs, product, 1.0)), 0.0)
