"""Code in Triton's and Gluon's language, a kernel a file; `kernels.fused` and `attention.hopper` launch it.

Nothing here is plain Python: mypy leaves this folder out, and tests compile it ahead of time (tests/unit/prefill).
"""
