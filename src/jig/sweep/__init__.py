"""Sweeps: one script with many settings. The sweep is a run on this computer whose program submits the others."""
