"""What a labelled recording tells beside its columns, kept up with as it grows."""
