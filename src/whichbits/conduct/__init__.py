"""From a study to a finished run: serve each arm, warm it, drive its cells, keep what happened."""
