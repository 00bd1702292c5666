"""The web app: a view over the same submit and queries that the command line uses. Needs the extra `app`."""
