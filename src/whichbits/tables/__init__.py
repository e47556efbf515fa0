"""A run as tables: for Arrow, polars, pandas and everything else that reads Arrow."""
