"""Padding of the cascade: small, never read, and every token in its place."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.packing import pack
from mis_scoring.engines.cascade_layout import cascade_layout

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=12)


@given(n_query=st.integers(1, 9), lengths=LENGTHS)
def test_every_item_token_is_computed_once_and_written_to_its_own_place(n_query: int, lengths: list[int]) -> None:
    layout = cascade_layout(pack([1] * n_query, [[2] * length for length in lengths]))
    assert layout.query_tokens == n_query
    written = np.concatenate([group.targets for group in layout.groups])
    assert sorted(written.tolist()) == list(range(n_query, n_query + sum(lengths)))
    for group in layout.groups:
        assert np.array_equal(group.places.ravel()[group.rows], group.targets)


@given(lengths=LENGTHS)
def test_padding_stays_inside_its_item_and_is_less_than_the_tokens(lengths: list[int]) -> None:
    packed = pack([1], [[2] * length for length in lengths])
    layout = cascade_layout(packed)
    for group in layout.groups:
        segments = packed.segment_ids[group.places]
        assert (segments == segments[:, :1]).all()
        assert (np.diff(group.places, axis=1) >= 0).all()
        assert group.places.size < 2 * group.targets.size


def test_layers_see_real_tokens_only() -> None:
    layout = cascade_layout(pack([1, 2], [[3], [4] * 30]))
    assert len(layout.groups) == 2
    assert sum(group.places.size for group in layout.groups) == 31
