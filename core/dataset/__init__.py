"""From recordings to datasets: transitions, curation, validation, export."""
