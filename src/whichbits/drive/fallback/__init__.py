"""aiohttp, for ways that the own transport does not go."""
