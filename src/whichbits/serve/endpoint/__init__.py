"""A server's address: the way to it, whether it answers, and what it is asked beside its traffic."""
