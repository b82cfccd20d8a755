"""Candidate retrieval: sections of a profile, their embeddings, exact top-K against the catalog."""
