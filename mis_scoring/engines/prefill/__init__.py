"""The dedicated engine: prefill a query, score its items, nothing else; a pair's bits are the same in any company.

Requests of several callers go through one forward pass. What each file knows: `shape` which checkpoints, `weights` the
layout of the matrices, `plan` and `tiles` where everything lies (numpy), `attention` and `kernels` the arithmetic, each
beside its plain reference, `forward` their order, `batcher` the host's part beside the GPU's, `invariance` whether the
claim holds on this machine. docs/prefill-engine.md has the design.
"""
