"""What people want to know first: the answer, how far to trust it, what it costs, and what must be seen."""
