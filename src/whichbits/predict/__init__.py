"""What would happen: a study played in virtual time, on a GPU that need not be at hand."""
