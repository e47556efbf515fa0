"""Sentences that can be said in more than one language."""
