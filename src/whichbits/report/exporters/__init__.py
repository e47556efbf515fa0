"""A run's results in other tools' formats: a file a cell."""
