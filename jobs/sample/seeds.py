"""Who may use which seed: the sample's members are never met in training.

A member is drawn from (seed, index) alone, so disjoint seeds give disjoint members.
"""

SAMPLE_SEED = 0
"""The default sample: what a refresh labels and what the labeler is tested on."""

VALIDATION_SEED = 500_000
"""Members on whom the threshold is chosen."""

TRAINING_SEED_FROM = 1_000_000
"""Training uses this seed and those above it; a sample must stay below `VALIDATION_SEED`."""

PAIRS_SEED_FROM = 2_000_000
"""Written pairs use this seed and those above it: training's own stream, which counts up, does not come so far."""

MAX_SAMPLE_SEED = VALIDATION_SEED - 1
"""The last seed that no member of validation or training was drawn from."""
