"""Where the embedded engine's weights come from, how their formats are made, and what a file really holds."""
