"""What an arm answers, asked over its served API: log-probabilities of texts, free answers, tasks; and their files."""
