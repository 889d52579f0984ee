"""Past one machine: rows on the workers of a Dask cluster, the reduction on the driver.

The rule of cells is the seam. A table of signed costs, one for each cell, goes out; a classifier
and one sum for each cell come back. No row ever reaches the driver, and nothing is shuffled.

Dask itself is imported only when one of its collections is met.
"""
