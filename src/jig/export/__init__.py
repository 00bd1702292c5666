"""The record for other programs: as a table, or in an MLflow store."""
