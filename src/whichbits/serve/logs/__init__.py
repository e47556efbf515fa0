"""What serving engines print, read into facts: one file (or folder) an engine family, and the shape of a line."""
