"""What runs: one verb a file. Rules are in `mis_scoring`, columns in `schemas`."""
