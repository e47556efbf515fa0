"""Where a run's results can be sent: services that keep traces, metrics or experiments."""
