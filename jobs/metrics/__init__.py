"""What Prometheus may ask: figures of the ledger and the tables, read at a scrape."""
