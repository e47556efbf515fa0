"""What is observed while cells run: every replica's metrics and the GPUs, and the files that keep it."""
