"""``--dask``: Parquet files that the workers of a cluster read, and whose rows stay there."""
