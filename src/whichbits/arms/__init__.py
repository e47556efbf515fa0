"""Arms: quantised variants of one 16-bit checkpoint, made by rounding to nearest, or by llm-compressor."""
