"""Measurements: reproduced tables, speed and memory. Scripts, not tests."""
