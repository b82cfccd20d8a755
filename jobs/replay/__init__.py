"""Score published labels again from their texts, by the labeler that was pinned."""
