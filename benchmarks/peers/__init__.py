"""Clients under test, each a program of its own."""
