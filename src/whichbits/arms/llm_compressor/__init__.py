"""llm-compressor as a program in an interpreter of its own: GPTQ with calibration, for arms that answer better."""
