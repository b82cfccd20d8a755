"""The published labels as a key-value store for downstream readers: fed from publications, read by gRPC and HTTP."""
