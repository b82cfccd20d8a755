"""What an artifact's numeric profile says: in which numbers its scores are defined."""

from collections.abc import Mapping

from mis_scoring.engines.prefill.fp8 import NO_QUANTISATION

QUANTISED, BITS_16, FLOAT32 = range(3)


def exactness(numeric_profile: Mapping[str, str]) -> int:
    """Return how exact a profile is: QUANTISED < BITS_16 < FLOAT32."""
    if numeric_profile["quantisation"] != NO_QUANTISATION:
        return QUANTISED
    return FLOAT32 if numeric_profile["dtype"] == "float32" else BITS_16


def profile_words(numeric_profile: Mapping[str, str]) -> str:
    """Return a profile in words: `bfloat16`, or `bfloat16 fp8-mlp`."""
    quantisation = numeric_profile["quantisation"]
    return numeric_profile["dtype"] + ("" if quantisation == NO_QUANTISATION else f" {quantisation}")
