"""What a study answers: which arm to serve in which regime, how far that carries, and what became of predictions."""
