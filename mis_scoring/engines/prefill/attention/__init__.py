"""Attention over a packed forward, by what the device can: `hopper`, `portable`; `reference` and `tiled` anywhere."""
