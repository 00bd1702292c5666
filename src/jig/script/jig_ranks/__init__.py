"""Several processes of a script under torchrun: stands in the script's place, and in each process for a moment."""
