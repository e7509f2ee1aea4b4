"""How much HDF5 keeps in memory of a file that grows.

HDF5 indexes the chunks of every dataset, and keeps what it met of these indexes, up to
32 MiB a file, growing with the recording. So little of it is needed at once that a
fixed, small part does as well: a writer only goes on at the end, and a reader comes
back to the same pages. The chunks themselves, of which it keeps 8 MiB a dataset once
they were read or written, are needed once: what is read again is kept by the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h5py

METADATA_BYTES = 1 << 16
CHUNKS_BYTES = 1 << 16  # of each dataset; 4 chunks


def bound_metadata(file: h5py.File) -> None:
    """Let HDF5 keep at most `METADATA_BYTES` of a file's own structures."""
    config = file.id.get_mdc_config()
    config.set_initial_size = True
    config.initial_size = config.min_size = config.max_size = METADATA_BYTES
    file.id.set_mdc_config(config)
