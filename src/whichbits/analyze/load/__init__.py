"""The load that a cell was under: how it was to come, how it came, and where it held steady."""
