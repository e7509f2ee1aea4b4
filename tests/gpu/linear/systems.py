"""Random systems of known kinds, the same for the same seed."""

from __future__ import annotations

import torch


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def spd(worlds: int, size: int, seed: int) -> torch.Tensor:
    """Symmetric positive definite, condition below about 100."""
    root = torch.randn(
        worlds, size, size, dtype=torch.float64, generator=generator(seed)
    )
    eye = torch.eye(size, dtype=torch.float64)
    return root @ root.transpose(1, 2) / size + 0.1 * eye


def general(worlds: int, size: int, seed: int) -> torch.Tensor:
    """Not symmetric, and far from singular."""
    random = torch.randn(
        worlds, size, size, dtype=torch.float64, generator=generator(seed)
    )
    return 0.4 * random / size**0.5 + torch.eye(size, dtype=torch.float64)


def scales(size: int) -> torch.Tensor:
    """Units from 1e-3 to 1e3, one for each unknown."""
    return torch.pow(10.0, torch.linspace(-3, 3, size, dtype=torch.float64))


def badly_scaled(
    worlds: int, size: int, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Positive definite matrices and right-hand sides, in units that differ much."""
    units = scales(size)
    matrix = spd(worlds, size, seed) * units[:, None] * units[None, :]
    return matrix, right_sides(worlds, size, seed) * units


def right_sides(worlds: int, size: int, seed: int) -> torch.Tensor:
    return torch.randn(worlds, size, dtype=torch.float64, generator=generator(seed + 1))
