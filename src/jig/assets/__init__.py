"""Assets: artifacts of runs that were given a name. `assets/NAME.link` in the project says which, blobs keep them."""
