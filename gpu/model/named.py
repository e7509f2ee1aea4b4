"""The models that ship with the program, by name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from isoscope import resources
from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.jsonform import decode_model

if TYPE_CHECKING:
    from isoscope.gpu.model.spec import Model

FOLDER = "models"
SUFFIX = ".json"


def model_names() -> tuple[str, ...]:
    """Their names, sorted: ``("arm7", "cartpole", …)``."""
    return tuple(
        name.removesuffix(SUFFIX)
        for name in resources.listing(FOLDER)
        if name.endswith(SUFFIX)
    )


@cache
def named_model(name: str) -> Model:
    """The model of this name.

    Raises
    ------
    ModelError
        If there is none; the message lists those that there are.
    """
    known = model_names()
    if name not in known:
        raise ModelError(
            "loading a model",
            f'there is none named "{name}"',
            remedy="choose one of " + ", ".join(known),
        )
    text = resources.text(FOLDER, name + SUFFIX)
    return decode_model(text, name=f"the model {name}")
