"""Performance gates in pytest."""
