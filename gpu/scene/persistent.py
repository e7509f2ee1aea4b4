"""A scene's persistent side: parameters, settings, and the machine made from them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.gpu.model.declarations import DECLARATIONS
from isoscope.gpu.scene import configuration
from isoscope.gpu.scene.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Machine, MachineMaker, Setting
    from isoscope.gpu.transfer import Ledger

    Host = np.ndarray[Any, np.dtype[Any]]

# Hexadecimal SHA-256 of the model; told with the configuration, and never set.
MODEL = "model"
_NAMES = frozenset(declared.name for declared in DECLARATIONS)


class Persistent:
    """What no snapshot covers; changed as a whole or not at all.

    Attributes
    ----------
    parameters
        Never written to, only replaced.
    machine
        What computes steps with these settings.
    """

    def __init__(
        self,
        tree: Tree,
        parameters: Parameters,
        make_machine: MachineMaker,
        settings: Mapping[str, Setting],
        ledger: Ledger,
    ) -> None:
        self._tree = tree
        self._make_machine = make_machine
        self._settings = dict(settings)
        self._ledger = ledger
        self._told: dict[str, Host] | None = None
        self._fingerprint: str | None = None
        self.parameters = parameters
        self.machine: Machine = make_machine(tree, parameters, self._settings, ledger)

    def described(self) -> dict[str, Host]:
        """Name to values that can't be written to."""
        if self._told is None:
            told = configuration.described(
                self.parameters, self._settings, self._ledger
            )
            model = hashlib.sha256(msgspec.json.encode(self._tree.model)).hexdigest()
            told[MODEL] = np.array(model)
            for array in told.values():
                array.flags.writeable = False
            self._told = told
        return dict(self._told)

    def fingerprint(self) -> str:
        """Hexadecimal SHA-256 of names and values."""
        if self._fingerprint is None:
            self._fingerprint = configuration.fingerprint(self.described())
        return self._fingerprint

    def configure(
        self, name: str, value: Host, chosen: np.ndarray[Any, Any] | None
    ) -> None:
        """Set one value in all worlds, or in those of the mask [W].

        Raises
        ------
        ConfigurationError
            For an unknown name or a value that makes no sense; nothing was changed.
        """
        if name in self._settings:
            settings = configuration.changed_setting(
                self._settings, name, value, chosen
            )
            machine = self._make_machine(
                self._tree, self.parameters, settings, self._ledger
            )
            self._settings, self.machine = settings, machine
        elif name in _NAMES:
            cause = configuration.CAUSE
            with self._ledger.copying("h2d", value.nbytes, cause, syncs=1):
                self.parameters = configuration.changed(
                    self._tree, self.parameters, name, value, chosen
                )
        else:
            names = ", ".join((*sorted(_NAMES), *self._settings))
            raise ConfigurationError(
                f"setting {name}: there is no such value to set; there are {names}"
            )
        self._told = self._fingerprint = None
