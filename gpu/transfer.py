"""The ledger of copies: what crossed between host and device, how often, and why.

Every copy of the simulator goes through a :class:`Ledger`, which books its bytes once,
under a cause such as ``"action"`` or ``"view"``. On a CPU the host side is the caller's
NumPy arrays and the device side the simulator's tensors, and the same is booked as on
CUDA, so a run on a CPU shows what a run on a GPU would copy. What stays in the device's
kernels, packing a strided tensor before it leaves say, is no copy.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoscope.core.errors import one_line
from isoscope.gpu.errors import TransferError
from isoscope.gpu.traffic import (
    DIRECTIONS,
    Direction,
    LedgerReport,
    StepTraffic,
    Tally,
    Traffic,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

# Page-locked memory is never given back by torch, so only what is copied often uses it;
# a larger copy goes the plain way, which costs it little.
PINNED_LIMIT_BYTES = 64 * 2**20
# Causes are a few names of ours. Whatever makes up more of them shares one.
MAX_CAUSES = 64
OTHER_CAUSE = "other"


class _Nesting(threading.local):
    """What a thread is in the middle of."""

    inside_copy = False
    cause: str | None = None


class Copying:
    """A copy that is being made; see `Ledger.copying`.

    A class of its own, no generator: there are dozens in every control step.
    """

    __slots__ = ("_cause", "_direction", "_ledger", "_n_bytes", "_nesting", "_syncs")

    def __init__(
        self,
        ledger: Ledger,
        nesting: _Nesting,
        direction: Direction | None,
        n_bytes: int,
        cause: str,
        syncs: int,
    ) -> None:
        self._ledger = ledger
        self._nesting: _Nesting | None = nesting
        self._direction = direction
        self._n_bytes = n_bytes
        self._cause = cause
        self._syncs = syncs

    def __enter__(self) -> None:
        nesting = self._nesting
        if nesting is not None and nesting.inside_copy:
            self._nesting = None  # it belongs to the outer one
        elif nesting is not None:
            nesting.inside_copy = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._nesting is None:
            return
        self._nesting.inside_copy = False
        if kind is None:
            told = self._direction, self._n_bytes, self._cause, self._syncs
            self._ledger.book(*told)


class Ledger:
    """Books copies and synchronisations, in all and per step, by cause.

    Thread-safe; a step includes what any thread copies while it lasts. Memory is
    bounded: sums are kept in all and of the last step, and from the 64th cause on all
    are booked as ``"other"``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nesting = _Nesting()
        self._all: dict[str, Tally] = {}
        self._step: dict[str, Tally] | None = None
        self._last: StepTraffic | None = None
        self._steps = 0

    # ------------------------------------------------------------------ copies

    def to_host(self, tensor: torch.Tensor, cause: str) -> NDArray[np.generic]:
        """Copy a tensor from the device into an array that the caller owns.

        On CUDA through page-locked memory, without blocking, then one synchronisation
        of the current stream; one synchronisation is booked on every device.

        Raises
        ------
        TransferError
            For a dtype that NumPy has not.
        """
        source = tensor.detach()
        try:
            with self.copying("d2h", _bytes(source), cause, syncs=1):
                if source.device.type != "cuda":
                    return np.array(source.numpy(), copy=True, order="C")
                source = source.contiguous()
                if _bytes(source) > PINNED_LIMIT_BYTES:
                    return source.cpu().numpy()
                staged = torch.empty(source.shape, dtype=source.dtype, pin_memory=True)
                staged.copy_(source, non_blocking=True)
                torch.cuda.current_stream(source.device).synchronize()
                return staged.numpy().copy()
        except TypeError as error:
            raise TransferError(
                f"copying {cause} to the host: {one_line(error)}"
            ) from error

    def to_device(
        self,
        array: ArrayLike,
        device: torch.device,
        dtype: torch.dtype | None,
        cause: str,
    ) -> torch.Tensor:
        """Copy an array to the device, into a tensor that shares nothing with it.

        The array is converted to ``dtype`` (None keeps its own) on the host, so what is
        booked is what crosses. On CUDA through page-locked memory, without blocking and
        without a synchronisation; more than ``PINNED_LIMIT_BYTES`` takes one.

        Raises
        ------
        TransferError
            For an array whose dtype torch has not.
        """
        try:
            host = torch.from_numpy(np.array(array, copy=True, order="C"))
        except (TypeError, ValueError) as error:
            raise TransferError(
                f"copying {cause} to {device}: {one_line(error)}"
            ) from error
        if dtype is not None:
            host = host.to(dtype)
        large = _bytes(host) > PINNED_LIMIT_BYTES
        with self.copying("h2d", _bytes(host), cause, syncs=int(large)):
            if device.type != "cuda" or large:
                return host.to(device)
            # Torch reuses page-locked memory, and no sooner than its copies are done.
            return host.pin_memory().to(device, non_blocking=True)

    def copy(self, target: torch.Tensor, source: torch.Tensor, cause: str) -> None:
        """Copy one tensor into another of the same shape, on any two devices.

        Within the simulator's device (and between two GPUs) it is booked as device to
        device; between CUDA and the host by its direction, and with the one
        synchronisation that such a plain copy takes.

        Raises
        ------
        TransferError
            Where the shapes differ.
        """
        if target.shape != source.shape:
            raise TransferError(
                f"copying {cause}: a tensor of shape {list(source.shape)} does not fit "
                f"into one of shape {list(target.shape)}"
            )
        came_from, goes_to = source.device.type, target.device.type
        direction: Direction = "d2d"
        if came_from != goes_to:
            direction = "h2d" if goes_to == "cuda" else "d2h"
        with self.copying(
            direction, _bytes(target), cause, syncs=int(direction != "d2d")
        ):
            target.copy_(source)

    def read_flag(self, flag: torch.Tensor, cause: str) -> bool:
        """Read one boolean back: its byte and the synchronisation are booked."""
        with self.copying("d2h", _bytes(flag), cause, syncs=1):
            return bool(flag.item())

    def synchronize(self, device: torch.device, cause: str) -> None:
        """Wait until the device has done everything, and book that once."""
        with self.copying(None, 0, cause, syncs=1):
            if device.type == "cuda":
                torch.cuda.synchronize(device)

    # ----------------------------------------------------------------- booking

    def copying(
        self, direction: Direction | None, n_bytes: int, cause: str, *, syncs: int = 0
    ) -> Copying:
        """Book one copy that is made inside, by whatever means.

        Copies of the ledger inside it belong to this one and are not booked again. A
        copy that fails is not booked.
        """
        return Copying(self, self._nesting, direction, n_bytes, cause, syncs)

    def book(
        self, direction: Direction | None, n_bytes: int, cause: str, syncs: int
    ) -> None:
        """Book a copy that was made: for `Copying`."""
        cause = self._nesting.cause or cause
        with self._lock:
            _tally(self._all, cause).book(direction, n_bytes, syncs)
            if self._step is not None:
                _tally(self._step, cause).book(direction, n_bytes, syncs)

    @contextmanager
    def scope(self, cause: str) -> Iterator[None]:
        """Book every copy inside (by this thread) under one cause, each once.

        Scopes may be nested; the outermost names the cause.
        """
        outer = self._nesting.cause
        self._nesting.cause = outer or cause
        try:
            yield
        finally:
            self._nesting.cause = outer

    # ------------------------------------------------------------------- steps

    def begin_step(self) -> None:
        """Begin a native step; what is copied from here on belongs to it.

        Raises
        ------
        TransferError
            Where a step has begun and not ended.
        """
        with self._lock:
            if self._step is not None:
                raise TransferError(
                    f"counting copies: native step {self._steps} has not ended, and "
                    "another one begins"
                )
            self._step = {}

    def end_step(self) -> StepTraffic:
        """End the native step that has begun, and say what was copied in it.

        Raises
        ------
        TransferError
            Where none has begun.
        """
        with self._lock:
            if self._step is None:
                raise TransferError("counting copies: a step ends that never began")
            by_cause = {cause: tally.freeze() for cause, tally in self._step.items()}
            self._last = StepTraffic(
                self._steps, sum(by_cause.values(), Traffic()), by_cause
            )
            self._step = None
            self._steps += 1
            return self._last

    @contextmanager
    def step(self) -> Iterator[None]:
        """Count what is copied inside as one native step, also where it fails."""
        self.begin_step()
        try:
            yield
        finally:
            self.end_step()

    # ----------------------------------------------------------------- answers

    @property
    def steps(self) -> int:
        """How many steps have ended."""
        with self._lock:
            return self._steps

    def last_step(self) -> StepTraffic | None:
        """Return what was copied in the last step that ended; None before the first."""
        with self._lock:
            return self._last

    def totals(self) -> Traffic:
        """Return what was copied since the beginning, in steps and between them."""
        return sum(self.by_cause().values(), Traffic())

    def by_cause(self) -> dict[str, Traffic]:
        """Return what was copied since the beginning, by cause."""
        with self._lock:
            return {cause: tally.freeze() for cause, tally in self._all.items()}

    def report(self) -> LedgerReport:
        """Return the ``ledger`` of ``isoscope.demo/1``."""
        by_cause = self.by_cause()
        total = sum(by_cause.values(), Traffic())
        sums = {f"{name}_bytes": getattr(total, f"{name}_bytes") for name in DIRECTIONS}
        return LedgerReport(**sums, syncs=total.syncs, by_cause=by_cause)


def _tally(tallies: dict[str, Tally], cause: str) -> Tally:
    found = tallies.get(cause)
    if found is not None:
        return found
    if len(tallies) >= MAX_CAUSES - 1:
        cause = OTHER_CAUSE
    return tallies.setdefault(cause, Tally())


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
