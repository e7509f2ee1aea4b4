"""From one step to the next."""
