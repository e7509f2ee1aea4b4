"""A Parquet file that is being written, and the tasks as lerobot looks them up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from isoscope.core.dataset.exporters.sinks import Sink

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BUFFER = 1 << 18


class Part:
    """A Parquet file that is being written."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self._sink = Sink(path)
        self._out = pa.BufferedOutputStream(pa.PythonFile(self._sink, "w"), BUFFER)
        self._writer = pq.ParquetWriter(
            self._out, schema, compression="snappy", use_dictionary=True
        )

    @property
    def bytes(self) -> int:
        """Written so far."""
        return int(self._out.tell())

    def write(self, table: pa.Table, rows: int) -> None:
        """Write a row group."""
        self._writer.write_table(table, row_group_size=rows)

    def check(self) -> None:
        """Raise OSError if writing failed."""
        self._sink.check()

    def close(self) -> None:
        """Write the footer, and close the file; raises OSError if writing failed."""
        try:
            self._writer.close()
            self._out.close()
            self._sink.check()
        finally:
            self._sink.close()


def write_tasks(path: Path, tasks: Mapping[str, int]) -> None:
    """Write the table of tasks; raises OSError."""
    table = pa.table(
        {
            "task_index": pa.array(list(tasks.values()), pa.int64()),
            "task": pa.array(list(tasks), pa.string()),
        }
    ).replace_schema_metadata({"pandas": json.dumps(PANDAS)})
    out = Part(path, table.schema)
    out.write(table, len(table))
    out.close()


# Makes `task` the index of the table, which is how lerobot looks tasks up.
PANDAS = {
    "index_columns": ["task"],
    "column_indexes": [
        {
            "name": None,
            "field_name": None,
            "pandas_type": "unicode",
            "numpy_type": "object",
            "metadata": {"encoding": "UTF-8"},
        }
    ],
    "columns": [
        {
            "name": "task_index",
            "field_name": "task_index",
            "pandas_type": "int64",
            "numpy_type": "int64",
            "metadata": None,
        },
        {
            "name": "task",
            "field_name": "task",
            "pandas_type": "unicode",
            "numpy_type": "object",
            "metadata": None,
        },
    ],
    "creator": {"library": "pyarrow", "version": pa.__version__},
    "pandas_version": "2.3.0",
}
