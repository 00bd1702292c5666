"""Drawing curves: values in, text or bytes out. Nothing here reads a file, and nothing else is needed for it."""
