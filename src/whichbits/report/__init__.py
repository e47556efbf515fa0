"""What people see of a run: terminal, HTML, Markdown, JSON, and a study while it runs."""
