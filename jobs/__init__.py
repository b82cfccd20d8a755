"""What runs: one verb a file that reads, transforms, checks and writes. Rules are in `mis_scoring`, tables in `schemas`."""
