"""What a file says, as people see it."""
