"""The study files that are published."""
