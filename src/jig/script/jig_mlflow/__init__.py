"""A run's own MLflow endpoint: what MLflow's client logs becomes lines of the run's metrics file.

Standard library only, Python 3.5: in a container it runs on the image's interpreter. The lines are the state: whatever
is known of runs, experiments and models is what the file says, so that one that serves may be followed by another.
"""
