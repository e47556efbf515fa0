"""Where two arms trade places over load, and how surely."""
