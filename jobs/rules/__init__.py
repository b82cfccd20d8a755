"""The rules that decide a refresh, as plain functions: who is in scope, whose state stands, which label changes, and
what is undone.

The Spark jobs say the same as columns (`jobs.scope`, `jobs.coverage`, `jobs.label_diff`, `jobs.judgments`,
`jobs.on_hold`, `jobs.restored_labels`), and a test holds both equal.
Written out here they can be run over thousands of histories in a second, which is how convergence is tested.
"""
