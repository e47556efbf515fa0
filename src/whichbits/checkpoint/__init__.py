"""Checkpoints: what a model folder holds, read from its config and its tensors' headers alone."""
