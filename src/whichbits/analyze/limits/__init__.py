"""What a device and its memory allow: the roofline of a decode step, and the requests that fit."""
