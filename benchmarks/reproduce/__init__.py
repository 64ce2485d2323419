"""Reproduces the papers' tables: `python -m benchmarks.reproduce PAPER --dataset NAME`."""
