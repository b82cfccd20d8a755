"""The quality study: semantic scoring against packed generation on the same pairs (arXiv 2610.36383, RQ1).

Runs where torch, transformers and tokenizers are, and nothing else of the platform; a GPU machine has no Spark.
"""
