"""HTTP/1.1 on a socket, with the time at which bytes arrived."""
