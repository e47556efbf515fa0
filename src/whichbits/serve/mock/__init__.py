"""A paced OpenAI-style server with exact token times: what a client is calibrated against, never an engine."""
