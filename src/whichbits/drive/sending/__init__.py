"""The loop that sends a part of a cell and reads its answers."""
