"""What each layer costs, beside what one would otherwise use."""
