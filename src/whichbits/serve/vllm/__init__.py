"""vLLM as an engine that studies serve with: how it starts, what it says of itself, what it must prove."""
