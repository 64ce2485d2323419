"""Reproduces the papers' tables and compares all mechanisms; `--list` shows every row."""
