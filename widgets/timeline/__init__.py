"""The timeline panel: what happened in which native step, at any zoom."""
