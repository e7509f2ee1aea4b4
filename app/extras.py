"""Turn a failed import into one line that says what to install."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoscope.core.errors import IsoscopeError, MissingExtraError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

# Top-level module: the extra that brings it, and what its distribution is called.
BROUGHT_BY = {
    "PySide6": ("app", "PySide6"),
    "shiboken6": ("app", "PySide6"),
    "pyqtgraph": ("app", "pyqtgraph"),
    "vispy": ("app", "vispy"),
    "qtawesome": ("app", "qtawesome"),
    "qtpy": ("app", "qtawesome"),
    "torch": ("sim", "torch"),
    "gymnasium": ("sim", "gymnasium"),
    "safetensors": ("sim", "safetensors"),
    "pyarrow": ("data", "pyarrow"),
    "PIL": ("data", "pillow"),
    "ray": ("ray", "ray"),
    "minari": ("minari", "minari"),
    "mujoco": ("mujoco", "mujoco"),
}


class UnusableError(IsoscopeError):
    """Something that is installed and can't be used on this machine."""


@contextmanager
def needs(what: str) -> Iterator[None]:
    """Say what to install where an import in this block fails for a missing package.

    Parameters
    ----------
    what
        What was asked for, such as ``"the window"``.

    Raises
    ------
    MissingExtraError
        If a package of an extra is not installed.
    UnusableError
        If a package needs a system library that is not installed.
    """
    from isoscope.app.doctor.libraries import how_to_install, library_in

    try:
        yield
    except ModuleNotFoundError as error:
        top = (error.name or "").partition(".")[0]
        if top not in BROUGHT_BY:
            raise  # one of our own: a bug, to be told as one
        extra, package = BROUGHT_BY[top]
        raise MissingExtraError(what, extra, package) from None
    except ImportError as error:
        library = library_in(str(error))
        if library is None:
            raise
        raise UnusableError(
            f"{what} can't start: {one_line(error)}; {how_to_install([library])}"
        ) from None
