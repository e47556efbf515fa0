"""What people see while work runs."""
