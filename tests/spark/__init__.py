"""A real Spark for tests: the engine from PyPI, a Java runtime, and a standalone cluster of hosts reached over SSH."""
