"""What the engines and their GPUs tell of a cell, and whether client and engines count the same."""
