"""Metrics over load, arm by arm, and what is read off such a curve."""
