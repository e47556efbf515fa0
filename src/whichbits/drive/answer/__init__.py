"""What an answer says: events, failures, and the record made of them."""
