"""A loop that acts in environments and stores what it learns from, as trainers do."""
