"""What a manifest should tell and doesn't, and what would have to be recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.dataset.manifest.forms import Missing

if TYPE_CHECKING:
    from isoscope.core.dataset.manifest.forms import Manifest
    from isoscope.core.dataset.manifest.told import Told

IDENTITY = {
    "engine": "the engine's name",
    "engine_version": "its version",
    "build": "its build",
    "precision": "float32 or float64",
    "packages": "versions of the packages it ran with",
    "platform": "where it ran",
    "commit": "the git commit of the code that ran it",
    "source_hash": "a hash of the environment's source",
    "spaces": "the spaces as declared",
    "control_hz": "f_c",
    "simulation_hz": "f_s",
    "substeps": "M",
    "autoreset_mode": "the inner autoreset mode",
    "processes": "P",
    "environments_per_process": "K",
    "threads": "the engine's threads",
    "shared_scenes": "whether environments step one scene in turn",
    "seeds": "seeds by environment",
}
RECORD = "record with the tap (isoscope record), which tells it"


_NEEDS = {
    "source.sha256": "a source that is a file or a folder",
    "source.complete": "a recording; a dataset does not say whether rows are missing",
    "episodes.seed": "a seed at every reset; an autoreset gives none",
    "frames (capture and read times)": "record the cameras' streams",
    "audit": "export from the recording, so that it is audited",
    "validation": "validate before the export",
}


def missing_of(made: Manifest, told: Told) -> list[Missing]:
    """Everything a manifest should have that this one doesn't."""
    out = [
        Missing(what=f"identity.{key} ({about})", needs=RECORD)
        for key, about in IDENTITY.items()
        if made.identity.get(key) in (None, "", [], {})
    ]
    roles = {entry.role for entry in made.fields}
    for what, there in {
        "source.sha256": made.source.sha256 is not None,
        "source.complete": made.source.complete is not None,
        "configuration.models (hashes of models and assets)": any(
            model.get("sha256") for model in made.configuration.get("models", ())
        ),
        "configuration.digests (persistent values as drawn)": bool(
            made.configuration.get("digests") or made.configuration.get("changes")
        ),
        "clocks.h_s": bool(made.clocks.h_s),
        "clocks.control_hz": made.clocks.control_hz is not None,
        "fields: raw actions": "raw_action" in roles,
        "fields: reward terms": "reward_term" in roles,
        "fields: action units": _known_units(made, "action"),
        "fields: action limits": any(
            f.low is not None for f in made.fields if f.role == "action"
        ),
        "episodes.seed": all(e.seed is not None for e in made.episodes),
        "episodes.native": all(e.native is not None for e in made.episodes),
        "reasons (why episodes ended)": bool(told.reasons),
        "solver (statuses)": bool(told.solver),
        "frames (capture and read times)": bool(told.frames),
        "audit": made.audit is not None,
        "validation": made.validation is not None,
    }.items():
        if not there:
            out.append(Missing(what=what, needs=_NEEDS.get(what, RECORD)))
    return out


def _known_units(made: Manifest, role: str) -> bool:
    units = [u for f in made.fields if f.role == role for u in f.units]
    return bool(units) and all(u is not None for u in units)
