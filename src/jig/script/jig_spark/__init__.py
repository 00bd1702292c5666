"""Starts a script through spark-submit, where the script itself would have been started. Python 3.5 or newer."""
