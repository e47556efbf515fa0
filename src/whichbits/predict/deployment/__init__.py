"""An arm on a GPU: its matrices and kernels, how long its steps take, and how much its KV cache holds."""
