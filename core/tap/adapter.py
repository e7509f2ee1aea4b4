"""What an adapter is: it wraps one kind of environment so that a tap sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from isoscope.core.tap.session import TapSession


class Adapter(Protocol):
    """Wraps environments of one kind; found by `isoscope.core.tap.adapters`.

    What `wrap` returns keeps to four rules:

    - It says nothing to the recorder before the environment's first reset or step. A
      vector environment makes one environment more, looks at its spaces and closes it:
      so that one appears nowhere.
    - Whatever it does for the tap, it does inside `session.guard`, and not at all once
      `session.on` is false.
    - What the environment returns or raises goes on to the caller unchanged.
    - It touches no random generator.
    """

    def wrap(self, env: Any, session: TapSession, index: int | None) -> Any:
        """Wrap an environment.

        Parameters
        ----------
        env
            A single or a vector environment.
        session
            Where to tell what is seen.
        index
            Its number among all environments of the run, of the first one for a vector
            environment. None: ask ``session.env_index(count)`` at the first reset or
            step.

        Returns
        -------
        Any
            What the user goes on with in its place.
        """
        ...
