"""What of a Lab environment's profiler contains what, as the tap tells it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from isoscope.core.tap.adapters.superdex.mochi import MochiTap


def section(name: str, last: float, *inner: Any) -> Any:
    nested = {one.name: one for one in inner}
    return SimpleNamespace(name=name, last=last, nested_sections=nested)


def parents(profiled: Any) -> dict[str, str]:
    told: list[Any] = []
    tap: Any = MochiTap.__new__(MochiTap)
    tap.recorder, tap.number = SimpleNamespace(profile=told.append), 3
    tap._section(profiled, "", 7)
    assert {(e.env, e.transition, e.unit) for e in told} == {(3, 7, "ms")}
    return {entry.name: entry.parent for entry in told}


def test_the_engine_s_times_lie_within_the_scene_s_step() -> None:
    # As Lab keeps them: beside what was measured around the scene's step.
    simulate = section(
        "simulate",
        0.76,
        section("restore_state", 0.08),
        section("step_scene", 0.56),
        section("cpp_total_step", 0.32),
        section("cpp_solve_step", 0.13),
        section("capture_state", 0.02),
    )
    inside = "step/simulate"
    assert parents(section("step", 0.9, simulate)) == {
        "step": "",
        inside: "step",
        f"{inside}/restore_state": inside,
        f"{inside}/step_scene": inside,
        f"{inside}/cpp_total_step": f"{inside}/step_scene",
        f"{inside}/cpp_solve_step": f"{inside}/cpp_total_step",
        f"{inside}/capture_state": inside,
    }


def test_what_is_not_told_contains_nothing() -> None:
    alone = section("simulate", 0.5, section("cpp_total_step", 0.3))
    assert parents(alone)["simulate/cpp_total_step"] == "simulate"
    other = section("simulate", 0.5, section("cpp_solve_step", 0.3))
    assert parents(other)["simulate/cpp_solve_step"] == "simulate"
