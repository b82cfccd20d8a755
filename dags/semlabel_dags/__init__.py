"""What the DAG files share: how a job is run, and the rounds of a refresh."""
