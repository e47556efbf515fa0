"""A study that decides its cells while it runs."""
