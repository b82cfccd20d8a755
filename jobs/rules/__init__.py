"""The rules that decide a refresh, as plain functions: who is in scope, whose state stands, which label changes.

The Spark jobs say the same as columns (`jobs.scope`, `jobs.coverage`, `jobs.label_diff`), and a test holds both equal.
Written out here they can be run over thousands of histories in a second, which is how convergence is tested.
"""
