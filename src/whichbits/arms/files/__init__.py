"""A checkpoint's files: the source's, read by rows, and the arm's, written anywhere and shown when whole."""
