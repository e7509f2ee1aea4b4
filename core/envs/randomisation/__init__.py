"""What differs from episode to episode: parameters, tasks, noise, delays."""
