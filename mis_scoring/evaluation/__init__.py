"""Judge a labeler where it works: on the retrieved candidates of members that training never met."""
