"""How planned traffic is sent and timed: one loop, one connection a request in flight, every read stamped."""
