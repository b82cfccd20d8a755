"""The sample: a catalog from ESCO and the project's own lists, and members whose reference answers are known."""
