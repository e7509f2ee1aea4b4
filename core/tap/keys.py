"""Keys for watching a run from another machine: CURVE's pair, and a shared secret.

Source: CurveZMQ, https://rfc.zeromq.org/spec/26/. The public key lets a window know the
run; the token lets the run know the window. It travels encrypted only.
"""

from __future__ import annotations

import secrets

import msgspec
import zmq


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a run.

    Attributes
    ----------
    public, secret
        CURVE's, in Z85: 40 characters.
    token
        What a window has to show.
    """

    public: str
    secret: str
    token: str

    def __repr__(self) -> str:
        """Only what may be seen."""
        return f"Keys(public={self.public!r})"


def new_keys() -> Keys:
    """Make new keys; keep them, and give `public` and `token` to who may watch."""
    public, secret = zmq.curve_keypair()
    return Keys(
        public=public.decode(), secret=secret.decode(), token=secrets.token_hex(16)
    )
