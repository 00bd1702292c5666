"""Says hello and logs one metric."""

import sys

from azureml.logging import get_azureml_logger

logger = get_azureml_logger()
logger.log("answer", 42)
print("hello from Python", sys.version.split()[0])
