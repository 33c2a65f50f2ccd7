"""PanJoin inside Spark Structured Streaming."""
