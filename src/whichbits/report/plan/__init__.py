"""A plan as people see it: of a study's cells, and of a fleet."""
