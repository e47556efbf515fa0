"""What arms' answers mean: how far they are from a reference's, and how sure that is."""
