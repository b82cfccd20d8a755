"""Semantic scoring with Multiple-Item Scoring: usable alone, knows no Airflow, no Spark, no table."""
