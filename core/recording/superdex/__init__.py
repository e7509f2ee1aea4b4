"""The event recordings and state files that SuperDex writes."""
