"""Servers behind a Kubernetes Service, reached through the user's own kubectl."""
