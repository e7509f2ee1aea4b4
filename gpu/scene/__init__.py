"""The scene: worlds, stepping, snapshots, persistent configuration, reading."""
