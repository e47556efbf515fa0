"""One cell in numbers, with what its requests leave open."""
