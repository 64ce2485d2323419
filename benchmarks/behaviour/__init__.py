"""What layers do with padding, empty texts and half precision: measured, ours and others'."""
