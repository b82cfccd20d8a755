"""The arithmetic of a forward but for attention: `plain` in torch alone, the oracle; `fused` in Triton for GPUs."""
