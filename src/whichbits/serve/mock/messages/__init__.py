"""What goes over the wire: requests as they were asked, and answers made before they are sent."""
