"""The Ray Data stage: tokenize on CPU actors, score on engine actors, one row in and one row out."""
