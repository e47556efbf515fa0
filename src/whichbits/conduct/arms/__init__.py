"""Arms while they are up: started, warmed, put to sleep, looked at, given up."""
