"""Ask a demo's environments, here or in workers, for what only they know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.demo import DemoSolver
from isoscope.core.envs.faults.switch import happened_in_worker
from isoscope.core.envs.rollout.sources import ResidentSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.app.demo.building import DemoParts
    from isoscope.core.envs.faults.order import Place

SUMS = ("h2d_bytes", "d2h_bytes", "d2d_bytes", "syncs")


def happened(parts: DemoParts, workers: int) -> dict[str, list[Place]]:
    """Where faults happened, by what was ordered."""
    found: dict[str, list[Place]] = {}
    told = [parts.switch.happened()]
    told += [parts.envs.worker_call(p, happened_in_worker) for p in range(workers)]
    for one in told:
        for order, places in one.items():
            found[order] = found.get(order, []) + places
    return found


def solver_of(parts: DemoParts, workers: int) -> DemoSolver:
    """Statuses of native steps, over all processes."""
    told = [parts.tally.counts()]
    told += [parts.envs.worker_call(p, solver_in_worker) for p in range(workers)]
    converged, stopped, diverged = (sum(column) for column in zip(*told, strict=True))
    return DemoSolver(converged, stopped, diverged)


def ledger_of(parts: DemoParts, workers: int) -> dict[str, Any] | None:
    """What crossed between host and device, over all scenes and processes."""
    if isinstance(parts.source, ResidentSource):
        return _summed([_report(parts.source.batch.scene)])
    if workers:
        asked = [parts.envs.worker_call(p, ledger_in_worker) for p in range(workers)]
    else:
        asked = [parts.envs.worker_call(0, ledger_in_worker)]
    return _summed([report for reports in asked for report in reports])


def solver_in_worker(envs: Sequence[Any]) -> tuple[int, int, int]:
    """For `worker_call`."""
    counts: tuple[int, int, int] = envs[0].get_wrapper_attr("switch").base.counts()
    return counts


def ledger_in_worker(envs: Sequence[Any]) -> list[dict[str, Any]]:
    """For `worker_call`: a report for each scene."""
    scenes = {id(env.unwrapped.scene): env.unwrapped.scene for env in envs}
    return [report for s in scenes.values() if (report := _report(s)) is not None]


def _report(scene: Any) -> dict[str, Any] | None:
    ledger = getattr(scene, "ledger", None)
    if ledger is None:
        return None
    told: dict[str, Any] = msgspec.to_builtins(ledger.report())
    return told


def _summed(reports: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    known = [report for report in reports if report is not None]
    if not known:
        return None
    total: dict[str, Any] = {name: sum(r[name] for r in known) for name in SUMS}
    by_cause: dict[str, dict[str, int]] = {}
    for report in known:
        for cause, traffic in report["by_cause"].items():
            into = by_cause.setdefault(cause, dict.fromkeys(traffic, 0))
            for name, value in traffic.items():
                into[name] += value
    return {**total, "by_cause": by_cause}
