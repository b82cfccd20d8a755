"""A driver of our own."""

from pyspark.sql import SparkSession


def test_it_is_named_after_what_it_is_for(spark: SparkSession) -> None:
    assert spark.sparkContext.appName == "semlabel tests"
