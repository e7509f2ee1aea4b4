"""The sections <compiler> and <option>, and which sections are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.gpu.model.mjcf.reading import Attributes

if TYPE_CHECKING:
    from isoscope.gpu.model.mjcf.document import Node
    from isoscope.gpu.model.mjcf.reading import Reading
    from isoscope.gpu.model.spec import Vector

READ = ("compiler", "option", "default", "worldbody", "actuator")
# looks, memory, measurements, names: nothing that moves
HARMLESS = (
    "asset",
    "custom",
    "keyframe",
    "sensor",
    "size",
    "statistic",
    "visual",
)
DYNAMIC = ("contact", "deformable", "equality", "extension", "tendon")


def read_sections(reading: Reading, root: Node) -> None:
    """Go over the sections: note those left out, refuse those that matter."""
    for section in root.children:
        if section.tag in READ:
            continue
        if section.tag in HARMLESS:
            reading.skip(section.tag, section)
        elif section.tag in DYNAMIC:
            if section.children:
                child = section.children[0]
                reading.unsupported(
                    section.tag,
                    child,
                    f"<{section.tag}> is not supported, and it changes the dynamics",
                )
        else:
            reading.unsupported(section.tag, section, "is not a section that is known")


def read_compiler(reading: Reading, root: Node) -> None:
    """Settings of all <compiler> sections; the last one given counts."""
    settings = reading.settings
    for node in root.of("compiler"):
        a = Attributes(reading, node)
        unit = "radian" if settings.radians else "degree"
        settings.radians = a.choice("angle", unit, ("degree", "radian")) == "radian"
        settings.auto_limits = a.flag("autolimits", settings.auto_limits)
        if a.choice("coordinate", "local", ("local", "global")) == "global":
            node.refuse(
                "global coordinates are not supported, nor by MuJoCo since 2.3.3",
                "convert the model",
            )
        settings.euler = a.text("eulerseq", settings.euler)
        if len(settings.euler) != 3 or not set(settings.euler) <= set("xyzXYZ"):
            node.refuse(
                f'eulerseq is "{settings.euler}"', "give three of the letters xyzXYZ"
            )
        settings.inertia_from_geoms = a.choice(
            "inertiafromgeom", settings.inertia_from_geoms, ("true", "false", "auto")
        )
        low, high = a.floats("inertiagrouprange", settings.inertia_groups)
        settings.inertia_groups = (int(low), int(high))
        settings.least_mass = a.number("boundmass", settings.least_mass)
        settings.least_inertia = a.number("boundinertia", settings.least_inertia)
        settings.total_mass = a.number("settotalmass", settings.total_mass)
        a.refuse_unless("balanceinertia", "false")
        a.refuse_unless("alignfree", "false")
        a.skip("fusestatic", "discardvisual", "exactmeshinertia", "saveinertial")
        a.drop("strippath", "meshdir", "texturedir", "assetdir", "usethread")
        a.drop("convexhull")
        for child in node.children:
            reading.skip(f"compiler.{child.tag}", child)
        a.finish()


def read_option(reading: Reading, root: Node) -> tuple[Vector, float]:
    """Gravity [m/s²] and the time step [s] of all <option> sections."""
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    step = 0.002
    falls = True
    for node in root.of("option"):
        a = Attributes(reading, node)
        gravity = a.floats("gravity", gravity)
        step = a.number("timestep", step)
        if step <= 0.0:
            node.refuse(f"timestep is {step:g}", "give more than 0")
        for name in ("density", "viscosity"):
            if a.number(name, 0.0) != 0.0:
                reading.unsupported(
                    "fluid", node, f"{name} is given: forces of a fluid are missing"
                )
        if any(a.floats("wind", (0.0, 0.0, 0.0))):
            reading.skip("option.wind", node)
        # how MuJoCo integrates and solves; Isoscope's scenes have their own settings
        a.skip("integrator", "solver", "iterations", "tolerance", "cone", "jacobian")
        a.skip("ls_iterations", "ls_tolerance", "noslip_iterations", "noslip_tolerance")
        a.skip("impratio", "ccd_iterations", "ccd_tolerance", "mpr_iterations")
        a.skip("mpr_tolerance", "sdf_iterations", "sdf_initpoints", "collision")
        a.skip("o_margin", "o_solref", "o_solimp", "o_friction", "apirate")
        a.skip("sleep_tolerance", "magnetic")
        a.refuse_unless("actuatorgroupdisable", "")
        for child in node.children:
            if child.tag == "flag":
                falls = _read_flags(reading, child) and falls
            else:
                reading.unsupported(child.tag, child)
        a.finish()
    if not falls:
        gravity = (0.0, 0.0, 0.0)
    x, y, z = gravity
    return (x, y, z), step


def _read_flags(reading: Reading, node: Node) -> bool:
    """Apply <flag>; returns whether there is gravity."""
    a = Attributes(reading, node)
    words = ("enable", "disable")
    reading.settings.contacts &= a.choice("contact", "enable", words) == "enable"
    reading.settings.limits &= a.choice("limit", "enable", words) == "enable"
    gravity = a.choice("gravity", "enable", words) == "enable"
    for name in ("passive", "spring", "damper", "actuation", "clampctrl"):
        a.refuse_unless(name, "enable")
    a.refuse_unless("filterparent", "enable")
    a.skip("constraint", "equality", "frictionloss", "warmstart", "refsafe", "sensor")
    a.skip("midphase", "nativeccd", "island", "eulerdamp", "autoreset", "override")
    a.skip("energy", "fwdinv", "invdiscrete", "multiccd", "sleep", "diagexact")
    a.finish()
    return gravity
