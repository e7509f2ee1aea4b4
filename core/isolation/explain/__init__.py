"""What findings and symptoms mean: `texts` by id, `symptoms`, and `explaining` both."""
