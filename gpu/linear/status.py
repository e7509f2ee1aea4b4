"""What is asked of a batched solve, and what it answers for each world."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

import torch

from isoscope.gpu.errors import LinearSystemError

if TYPE_CHECKING:
    from isoscope.gpu.linear.preconditioners import Preconditioner
    from isoscope.gpu.transfer import Ledger

STATUS_CAUSE = "solver-status"
# Half of a float64's and of a float32's digits, and a little more.
DEFAULT_TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
DEFAULT_CHECK_EVERY = {"cpu": 1}
DEFAULT_CHECK_EVERY_ELSEWHERE = 8


class SolveStatus(IntEnum):
    """How a world's solve ended. Only ``CONVERGED`` has an answer to go on with."""

    CONVERGED = 0
    """The residual, computed anew from the answer, is within the tolerance."""
    STOPPED = 1
    """At the cap of iterations, or where rounding lets the residual fall no further."""
    DIVERGED = 2
    """The residual grew beyond ``divergence_limit`` times the first one."""
    BREAKDOWN = 3
    """The method can't go on: a matrix that is singular, or for CG not positive."""
    NOT_FINITE = 4
    """NaN or infinity in the matrix, the right-hand side or on the way."""


RUNNING = -1
"""Inside a solve only: not decided yet."""


@dataclass(frozen=True)
class SolveOptions:
    """How to solve. Cheap to make, safe to share.

    Parameters
    ----------
    method
        ``"gmres"`` for any matrix, ``"cg"`` for symmetric positive definite ones.
    preconditioner
        Such as ``Jacobi()``; None for none.
    relative_tolerance
        Converged means ``|b - A x| <= max(relative_tolerance |b|, absolute_tolerance)``
        in the Euclidean norm. None: 1e-10 in float64, 1e-5 in float32. Where unknowns
        have units of different size it speaks for the large ones only: scale first.
    absolute_tolerance
        The floor, in the unit of ``b``.
    max_iterations
        The cap for each world, over all restarts. None: the greater of 50 and 10 n.
    restart
        GMRES begins anew after so many iterations (n at most); its memory is
        ``(restart + 1) n W`` numbers.
    check_every
        After how many iterations to ask whether every world is done, which the host has
        to wait for. None: 1 on a CPU, 8 elsewhere. Changes no bit of the answer.
    divergence_limit
        How many times its first residual a world may reach before it is given up.
    timing
        Whether to take the time of each part; on CUDA this costs one synchronisation.

    Raises
    ------
    LinearSystemError
        For a method or a number that makes no sense.
    """

    method: Literal["gmres", "cg"] = "gmres"
    preconditioner: Preconditioner | None = None
    relative_tolerance: float | None = None
    absolute_tolerance: float = 0.0
    max_iterations: int | None = None
    restart: int = 30
    check_every: int | None = None
    divergence_limit: float = 1e8
    timing: bool = False

    def __post_init__(self) -> None:
        if self.method not in ("gmres", "cg"):
            raise LinearSystemError(
                f"solving linear systems: {self.method!r} is no method; use gmres or cg"
            )
        for name in ("max_iterations", "restart", "check_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise LinearSystemError(
                    f"solving linear systems: {name} is {value}; it must be 1 or more"
                )
        for name in ("relative_tolerance", "absolute_tolerance"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise LinearSystemError(
                    f"solving linear systems: {name} is {value}; it must be 0 or more"
                )
        if not self.divergence_limit > 1:
            raise LinearSystemError(
                "solving linear systems: divergence_limit is "
                f"{self.divergence_limit}; it must be greater than 1"
            )

    def tolerance_for(self, dtype: torch.dtype) -> float:
        """Return the relative tolerance that holds for a precision."""
        if self.relative_tolerance is None:
            return DEFAULT_TOLERANCE[dtype]
        return self.relative_tolerance

    def cap_for(self, size: int) -> int:
        """Return the cap of iterations that holds for n unknowns."""
        return self.max_iterations or max(50, 10 * size)

    def check_for(self, device: torch.device) -> int:
        """Return after how many iterations to ask on a device."""
        return self.check_every or DEFAULT_CHECK_EVERY.get(
            device.type, DEFAULT_CHECK_EVERY_ELSEWHERE
        )


@dataclass(frozen=True)
class SolveTiming:
    """Seconds that each part of a solve took; no part contains another.

    ``host_to_device_s`` and ``device_to_host_s`` are 0 where everything was, and
    stayed, on the device. ``preconditioner_s`` is building and applying it,
    ``read_back_s`` asking whether all worlds are done, waiting included.
    """

    host_to_device_s: float = 0.0
    preconditioner_s: float = 0.0
    iterations_s: float = 0.0
    read_back_s: float = 0.0
    device_to_host_s: float = 0.0


@dataclass(frozen=True)
class SolveCounts:
    """How many worlds converged, were stopped, and diverged or broke down."""

    converged: int
    stopped: int
    diverged: int


@dataclass(frozen=True)
class SolveResult:
    """What a batched solve answers, on its device.

    Parameters
    ----------
    solution
        ``[W, n]``, a view with the worlds densest in memory. It means nothing where the
        status is not ``CONVERGED``; where that is ``NOT_FINITE`` it is the last finite
        iterate.
    status
        ``[W]`` int8, a :class:`SolveStatus` each.
    iterations
        ``[W]`` int32, over all restarts.
    relative_residual
        ``[W]``, ``|b - A x| / |b|`` of the answer, computed anew; 0 where both are 0,
        NaN where it is not finite.
    timing
        Only where ``SolveOptions.timing`` was set.
    """

    solution: torch.Tensor
    status: torch.Tensor
    iterations: torch.Tensor
    relative_residual: torch.Tensor
    timing: SolveTiming | None = None

    @property
    def converged(self) -> torch.Tensor:
        """``[W]`` bool: whether the answer is one."""
        return self.status == SolveStatus.CONVERGED

    def counts(self, ledger: Ledger) -> SolveCounts:
        """Count the worlds by how they ended; one read-back, which the ledger books."""
        counts = torch.stack([(self.status == s).sum() for s in SolveStatus])
        numbers = ledger.to_host(counts, STATUS_CAUSE).tolist()
        return SolveCounts(numbers[0], numbers[1], sum(numbers[2:]))
