"""Models as JSON files: the form ``isoscope.model/1``.

`docs/model-schema.md` describes it.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from isoscope.core.errors import WriteError, one_line
from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.spec import SCHEMA, Model
from isoscope.gpu.model.validate import validate

# More than any model by hand, and less than what a wrong file could cost.
LARGEST_FILE = 16 * 2**20


class _Header(msgspec.Struct):
    schema: str | None = None


def load_model(path: str | Path) -> Model:
    """Read a model.

    Raises
    ------
    ModelError
        If it can't be read or is not a valid model; the place in the file is named as
        ``$.actors[0].links[2].mass``.
    """
    return decode_model(read_file(path, "the model"), name=f"the model {path}")


def decode_model(data: bytes | str, *, name: str = "the model") -> Model:
    """Read a model from JSON text.

    Parameters
    ----------
    name
        What it is, for messages: ``"the model hopper.json"``.

    Raises
    ------
    ModelError
        As `load_model`.
    """
    doing = f"reading {name}"
    try:
        found = msgspec.json.decode(data, type=_Header).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _decode_error(doing, error) from None
    if found != SCHEMA:
        said = "it doesn't say its schema" if found is None else f'it is "{found}"'
        raise ModelError(
            doing, said, where="$.schema", remedy=f'models here are "{SCHEMA}"'
        )
    try:
        model = msgspec.json.decode(data, type=Model)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _decode_error(doing, error) from None
    try:
        validate(model)
    except ModelError as error:
        raise ModelError(
            doing, error.problem, where=error.where, remedy=error.remedy
        ) from None
    return model


def read_file(path: str | Path, what: str) -> bytes:
    """The bytes of a file of a sensible size.

    Raises
    ------
    ModelError
        If it can't be read, or is too large to be one.
    """
    doing = f"reading {what} {path}"
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(doing, reason, remedy="check the path") from None
    if len(data) > LARGEST_FILE:
        raise ModelError(
            doing,
            f"it is larger than {LARGEST_FILE >> 20} MiB",
            remedy="is it a model?",
        )
    return data


def encode_model(model: Model) -> str:
    """A model as JSON text for people: what has its default is left out.

    The model is checked first, so that what is written can be read.

    Raises
    ------
    ModelError
        If it is not a valid model.
    """
    validate(model)
    plain = msgspec.to_builtins(model)
    given = {name: value for name, value in plain.items() if value}
    ordered = {"schema": given.pop("schema"), **given}
    return _pretty(ordered, "") + "\n"


def save_model(model: Model, path: str | Path) -> None:
    """Write a model; the file is there whole, or as it was.

    Raises
    ------
    ModelError
        If it is not a valid model.
    WriteError
        If it can't be written.
    """
    text = encode_model(model)
    target = Path(path)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, target)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise WriteError(
            f"writing the model {target}: {error.strerror or error}; "
            "choose a folder that can be written to"
        ) from None


def _decode_error(doing: str, error: Exception) -> ModelError:
    text = one_line(error)
    problem, _, place = text.partition(" - at `")
    if place:
        return ModelError(
            doing, problem, where=place.rstrip("`"), remedy="see docs/model-schema.md"
        )
    return ModelError(doing, problem, remedy="correct the file")


def _pretty(value: Any, indent: str) -> str:
    """JSON with one key a line, and what holds only numbers on one line."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        rows = [
            f"{inner}{json.dumps(k)}: {_pretty(v, inner)}" for k, v in value.items()
        ]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, (list, tuple)) and any(
        isinstance(item, (dict, list)) for item in value
    ):
        rows = [inner + _pretty(item, inner) for item in value]
        return "[\n" + ",\n".join(rows) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
