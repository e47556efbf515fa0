"""The cells of a run as a table: measures in columns, repeats pooled."""
