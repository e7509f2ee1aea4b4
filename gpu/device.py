"""Devices and precisions by name, and sums whose bits no batch size changes.

The rules
---------
A world's result must have the same bits alone, among 7 or among 65,536 others, and in
any place of the batch. Torch does not promise that; these rules do:

1. Only elementwise ``+ - * /`` and ``sqrt`` (IEEE 754 rounds them correctly, so vector
   and scalar loops agree), comparisons, ``where``, gathers, ``abs``, ``sin``, ``cos``.
   In float64 on a CPU ``atan2``, ``pow``, ``sigmoid`` and ``hypot`` give other last
   bits where a vector loop meets its rest, so at another batch size.
2. No fused ``a + s * b``: ``addcmul``, ``addcdiv``, ``lerp`` and ``add`` with an
   ``alpha`` other than 1 and -1 may or may not use a fused multiply-add, by place.
3. No ``[W, k] @ [k, m]``, and no ``sum``, ``mean``, ``norm``, ``einsum`` over a small
   axis: the order of additions is torch's choice and changes with the shape. Use
   :func:`contract`, :func:`row_dot`, :func:`row_norm`, :func:`matvec` here. ``amax``,
   ``any`` and ``all`` have no order.
4. Batched ``linalg`` and ``bmm`` on CPU round by where in a cache line a matrix begins
   (so ``inv_ex`` of 9 rows in float64), and with that by its place in the batch. Make
   each matrix whole lines of 64 bytes, as the block-Jacobi preconditioner does.
5. No ``torch.compile`` of such code: fusing brings rule 2 back.

Between devices, and between float32 and float64, bits differ.
"""

from __future__ import annotations

import torch

from isoscope.gpu.errors import DeviceError

PRECISIONS: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
}


def resolve_device(name: str | torch.device = "auto") -> torch.device:
    """Find the device that a setting names.

    Parameters
    ----------
    name
        ``"auto"`` (the first CUDA device, or else the CPU), ``"cpu"``, ``"cuda"`` or
        ``"cuda:1"``; a ``torch.device`` is checked alike.

    Returns
    -------
    torch.device
        With an index where it is a CUDA device.

    Raises
    ------
    DeviceError
        Where there is no such device here, or no such name.
    """
    text = str(name).strip().lower()
    if text == "auto":
        text = "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, index = text.partition(":")
    if text == "cpu":
        return torch.device("cpu")
    if kind != "cuda" or (":" in text and not (index.isascii() and index.isdigit())):
        raise DeviceError(
            f"choosing the simulator's device: {str(name)!r} is not a device it runs "
            "on; use auto, cpu, cuda or cuda:N"
        )
    if not torch.cuda.is_available():
        built = torch.version.cuda is not None
        why = "torch finds no CUDA device" if built else "this torch has no CUDA"
        raise DeviceError(
            f"choosing the simulator's device: {text} was asked for, but {why}; "
            "use auto or cpu"
        )
    count = torch.cuda.device_count()
    place = int(index) if index else torch.cuda.current_device()
    if place >= count:
        raise DeviceError(
            f"choosing the simulator's device: {text} was asked for, but there are "
            f"{count} CUDA devices, counted from 0; use cuda:{count - 1} or auto"
        )
    return torch.device("cuda", place)


def resolve_dtype(precision: str | torch.dtype) -> torch.dtype:
    """Find the torch dtype of ``"float32"`` or ``"float64"``.

    Raises
    ------
    DeviceError
        For any other precision.
    """
    if isinstance(precision, torch.dtype):
        precision_name(precision)
        return precision
    try:
        return PRECISIONS[precision]
    except KeyError:
        raise DeviceError(
            f"choosing the simulator's precision: {precision!r} is not one of "
            f"{', '.join(PRECISIONS)}"
        ) from None


def precision_name(dtype: torch.dtype) -> str:
    """Name a torch dtype as settings and files do: ``"float32"`` or ``"float64"``.

    Raises
    ------
    DeviceError
        For any other dtype.
    """
    for name, known in PRECISIONS.items():
        if known == dtype:
            return name
    raise DeviceError(
        f"choosing the simulator's precision: {dtype} is not one of "
        f"{', '.join(PRECISIONS)}"
    )


def contract(a: torch.Tensor, b: torch.Tensor, dim: int) -> torch.Tensor:
    """Sum ``a * b`` over one axis, in an order that only this axis' length decides.

    On a CPU the terms are added one after the other, which keeps the work in the
    cache; elsewhere by halves, which needs few launches. Zero terms change no bit of a
    sum on a CPU. Fastest with the worlds on the last axis.

    Parameters
    ----------
    a, b
        Tensors of one dtype and device that broadcast and have the same number of axes.
    dim
        The axis to sum over; at least one long in the broadcast shape.

    Returns
    -------
    torch.Tensor
        The broadcast shape without ``dim``. Differentiable.
    """
    length = max(a.shape[dim], b.shape[dim])
    if a.device.type != "cpu":
        return tree_sum(a * b, dim)
    a_step, b_step = int(a.shape[dim] > 1), int(b.shape[dim] > 1)
    total = a.select(dim, 0) * b.select(dim, 0)
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        for k in range(1, length):
            total = total + a.select(dim, k * a_step) * b.select(dim, k * b_step)
        return total
    # The same additions, without a new tensor for each.
    term = torch.empty_like(total)
    for k in range(1, length):
        torch.mul(a.select(dim, k * a_step), b.select(dim, k * b_step), out=term)
        total.add_(term)
    return total


def tree_sum(terms: torch.Tensor, dim: int) -> torch.Tensor:
    """Sum over one axis by halves, in an order that only this axis' length decides.

    Parameters
    ----------
    terms
        Any tensor; at least one long along ``dim``.

    Returns
    -------
    torch.Tensor
        The shape without ``dim``. Differentiable.
    """
    length = terms.shape[dim]
    while length > 1:
        half = length // 2
        left = terms.narrow(dim, 0, half) + terms.narrow(dim, half, half)
        if length % 2:
            # A new row rather than one changed in place: gradients pass both.
            last = left.narrow(dim, half - 1, 1) + terms.narrow(dim, length - 1, 1)
            left = torch.cat((left.narrow(dim, 0, half - 1), last), dim)
        terms, length = left, half
    return terms.select(dim, 0)


def row_dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply rows: the sum of ``a * b`` over the last axis (see :func:`contract`).

    Parameters
    ----------
    a, b
        ``[..., k]``, k at least 1.

    Returns
    -------
    torch.Tensor
        ``[...]``.
    """
    return contract(a, b, a.dim() - 1)


def row_norm(a: torch.Tensor) -> torch.Tensor:
    """Take the Euclidean length of each row ``[..., k]``, without overflow of squares.

    The row is divided by the power of two of its largest entry first, which is exact.
    """
    scale = power_of_two(a.detach().abs().amax(-1))
    scaled = a / scale.unsqueeze(-1)
    return torch.sqrt(row_dot(scaled, scaled)) * scale


def matvec(matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """Multiply ``[..., n, k]`` by ``[..., k]`` to ``[..., n]`` (:func:`contract`)."""
    return contract(matrix, vector.unsqueeze(-2), matrix.dim() - 1)


def power_of_two(size: torch.Tensor) -> torch.Tensor:
    """Find the power of two of each size's binary exponent, exactly.

    Dividing by it brings the size into [0.5, 1) without rounding. Sizes that are zero
    or not finite give 1.
    """
    mantissa, _ = torch.frexp(size)
    usable = torch.isfinite(size) & (size > 0)
    # Not by 2 ** exponent: pow is one of the functions that rule 1 forbids. A size of
    # 2^1023 and more has the power 2^1024, which is no float: half of it serves.
    power = size / torch.where(usable, mantissa, 1.0)
    power = torch.where(torch.isfinite(power), power, size / (mantissa * 2))
    return torch.where(usable, power, torch.ones_like(size))
