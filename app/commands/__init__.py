"""The subcommands, one a file; each imports what it needs only when it runs."""
