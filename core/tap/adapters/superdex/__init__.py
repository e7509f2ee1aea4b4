"""SuperDex: its Lab's environments and what happens in their native scenes.

Nothing here imports SuperDex: its classes are those of the environment that was given.
Seen with 1.0.0 and 1.0.1.
"""
