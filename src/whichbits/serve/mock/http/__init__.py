"""The mock's HTTP server: connections, and the pages beside the answers."""
