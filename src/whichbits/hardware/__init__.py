"""Hardware: what accelerators can do at most, from a table with sources, and what this machine does, measured."""
