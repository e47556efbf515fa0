"""A study that is under way, in Prometheus's text form."""
