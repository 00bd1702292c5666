"""The record: run folders, the index derived from them, and queries."""
