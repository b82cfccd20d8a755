"""The model server: one query and its items in, item-aligned scores out, by gRPC; and its client."""
