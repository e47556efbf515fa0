"""Worker processes that send the parts of a cell."""
