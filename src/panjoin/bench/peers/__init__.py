"""What else joins streams, beside PanJoin: the same data, the same result, counted and checked.

    one_shot.py     a window in memory, joined anew with every micro-batch: numpy, DuckDB, Polars
    streaming.py    engines with streams of their own: Spark, Flink, Pathway, and PanJoin inside Spark

Each contestant runs on one core, and on two (`cores.py` binds the whole process), in the best configuration that we
found for it, which stands beside its code and in the report.
"""
