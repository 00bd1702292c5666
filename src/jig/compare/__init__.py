"""Comparing runs: values in, rows and patches out. Pure: nothing is touched."""
