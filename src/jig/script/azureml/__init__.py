"""The `azureml` that every script can import; it steps back behind a real one where that is installed."""

from azureml._jig_face import settle

settle(__name__)
