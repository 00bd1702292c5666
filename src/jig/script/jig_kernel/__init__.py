"""A notebook's kernel as a run's script, and what carries its channels from there."""
