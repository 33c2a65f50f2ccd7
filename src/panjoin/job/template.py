"""The job files that `panjoin init` writes: they run as they are, and say what may be changed."""

_HEAD = """# A job of `panjoin run`; `panjoin run --dry-run` checks it and shows the plan.
# Paths are seen from this file's directory, and stay inside it.

name = "{name}"
"""

_JOIN = """
[join]
# SQL over left and right; what can be indexed is: panjoin explain job.toml
on = "{on}"
how = "inner"               # inner, left, right, full, left_semi, left_anti
# index = "auto"            # bi-sort, rap-table, wib-tree, scan
# emit = "rows"             # "counts", or a list: ["count", "avg(right.price) as mean"]
"""

FILES = (
    _HEAD.format(name="orders-meet-quotes")
    + """
[left]
format = "csv"              # parquet, csv, json, orc, kafka, rate, socket, or any other source of Spark
path = "orders"
schema = "ts timestamp, symbol string, price int"
watermark = "1 minute"      # how late a tuple may come; what comes later is dropped and counted
options = { header = true } # of Spark's CSV source

[right]
format = "csv"
path = "quotes"
schema = "ts timestamp, symbol string, price int"
watermark = "1 minute"
options = { header = true }
"""
    + _JOIN.format(on="left.symbol = right.symbol AND left.price BETWEEN right.price - 5 AND right.price + 5")
    + """
[window]
time = "10 minutes"         # or count = 1000; each side its own: time = {{ left = "1 hour", right = "10 minutes" }}
on = "ts"                   # the event-time column, or one for each side: ["ts", "time"]

[sink]
format = "json"             # parquet, csv, json, orc, console, memory, kafka, or any other sink of Spark
path = "matches"

[run]
trigger = "available now"   # or a micro-batch so often, until Ctrl-C: "5 seconds"
checkpoint = "checkpoint"   # what makes the next start go on from here; remove it (and the output) to start over
# master = "local[2]"       # cores to use
""".replace("{{", "{").replace("}}", "}")
)

RATE = (
    _HEAD.format(name="rates-meet")
    + """
[left]
format = "rate"             # made up by Spark: columns timestamp and value
rows_per_second = 1000
rename = { timestamp = "ts", value = "x" }
watermark = "10 seconds"

[right]
format = "rate"
rows_per_second = 1000
rename = { timestamp = "ts", value = "x" }
watermark = "10 seconds"
"""
    + _JOIN.format(on="left.x BETWEEN right.x - 2 AND right.x + 2")
    + """
[window]
time = "1 minute"
on = "ts"

[sink]
format = "parquet"
path = "matches"

[run]
trigger = "2 seconds"       # until Ctrl-C
checkpoint = "checkpoint"
"""
)
