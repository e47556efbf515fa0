"""The prefix cache: what it gave, and what the planned traffic lets expect of it."""
