"""The embedded engine: OpenVINO GenAI's continuous batching behind an OpenAI-style server, for CPUs."""
