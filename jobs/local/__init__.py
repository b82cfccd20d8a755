"""What a machine without a cluster starts for itself: a Spark Connect server and Airflow in the foreground."""
