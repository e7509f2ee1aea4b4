"""An engine in a process of its own, in an interpreter that has it.

`side` runs there and needs NumPy and msgspec besides the engine; `engine` is what
re-simulation has here. They talk in blocks of operations (`messages`), as msgpack over
the process's own pipes.
"""
