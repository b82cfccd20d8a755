"""How much of a model's context an item may take, so that one long entry does not crowd out its members' profiles."""

ITEM_SHARE = 8


def max_item_tokens(context_tokens: int) -> int:
    """Return the most tokens that an item may have: an eighth of the context; a query has the rest."""
    return context_tokens // ITEM_SHARE
