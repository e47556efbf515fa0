"""Where an engine's time goes by kind of kernel, read from traces of torch's profiler."""
