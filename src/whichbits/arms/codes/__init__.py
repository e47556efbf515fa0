"""Weights as codes: rounded, packed and laid out as engines read them."""
