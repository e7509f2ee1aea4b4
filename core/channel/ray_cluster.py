"""Joining a Ray cluster, or starting one on this machine.

Ray is imported when it is asked for and never before.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.errors import ChannelError
from isoscope.core.errors import MissingExtraError, one_line

if TYPE_CHECKING:
    from types import ModuleType

NAMESPACE = "isoscope"
STORE_BYTES = 512 * 2**20  # of a cluster that is started here


def ray_module() -> ModuleType:
    """Import Ray.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import ray
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ray":
            raise
        raise MissingExtraError("a channel on Ray", "ray", "ray") from None
    module: ModuleType = ray
    return module


def join_cluster(address: str | None = None, **settings: Any) -> bool:
    """Join a Ray cluster from this process, unless it takes part in one already.

    Parameters
    ----------
    address
        ``"HOST:PORT"`` of a running cluster's head. By default that of the environment
        variable ``RAY_ADDRESS``; without one, Ray is started on this machine, for this
        process and those it tells the address.
    **settings
        More for ``ray.init``.

    Returns
    -------
    bool
        Whether it was done here, so that whoever asked should leave in the end.

    Raises
    ------
    MissingExtraError
        If Ray is not installed.
    ChannelError
        If the cluster can't be joined or started.
    """
    ray = ray_module()
    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS") or None
    chosen: dict[str, Any] = {
        "namespace": NAMESPACE,
        "log_to_driver": False,
        "logging_level": "ERROR",
    }
    if address is None:
        chosen |= {"include_dashboard": False, "object_store_memory": STORE_BYTES}
    try:
        with warnings.catch_warnings():
            # Ray announces changes of its own defaults; none of them concerns us
            warnings.simplefilter("ignore", FutureWarning)
            ray.init(address=address or "local", **{**chosen, **settings})
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        doing = f"joining Ray at {address}" if address else "starting Ray here"
        raise ChannelError(f"{doing}: {one_line(error)[:300]}") from None
    return True


def leave_cluster() -> None:
    """Leave the cluster; one that was started here ends."""
    ray_module().shutdown()
