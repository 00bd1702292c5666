"""A GPU for tests that have none: a driver of two devices, and the ways by which engines give it to containers."""

from tests.engines.gpu.driver import Driver

__all__ = ["Driver"]
