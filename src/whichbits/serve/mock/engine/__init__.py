"""The engine that the mock pretends to be: its desk, its pace, its prefix cache, and what it truly did."""
