"""Attention over a packed forward, chosen by what the device can: `hopper`, `portable`; `reference` and `tiled` anywhere."""
