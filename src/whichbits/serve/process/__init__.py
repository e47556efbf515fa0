"""Processes that whichbits starts, and that end with it."""
