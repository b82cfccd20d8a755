"""Profile updates between refreshes: a durable inbox, micro-batches that are runs, and the service that takes edits."""
