"""Notebooks: a Jupyter server here, and a kernel for each run configuration, wherever that runs."""
