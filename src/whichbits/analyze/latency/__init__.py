"""What a client feels, from its requests' timelines: latencies, their stages, and work per second."""
