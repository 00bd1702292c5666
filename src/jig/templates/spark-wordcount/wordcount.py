"""Counts words with Spark: wordcount.py [FROM] [TO], files or folders that Spark can read and write."""

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, desc, explode, lower, split

import jig

source = sys.argv[1] if len(sys.argv) > 1 else "workshop.txt"
target = sys.argv[2] if len(sys.argv) > 2 else "outputs/counts"

spark = SparkSession.builder.getOrCreate()
lines = spark.read.text(os.path.abspath(source) if os.path.exists(source) else source)
words = lines.select(explode(split(lower(col("value")), "[^a-z]+")).alias("word")).where(col("word") != "")
counts = words.groupBy("word").agg(count("*").alias("count")).orderBy(desc("count"), "word").cache()

top = [(row["word"], row["count"]) for row in counts.take(10)]
jig.log(lines=lines.count(), words=words.count(), different=counts.count())
for word, times in top:
    print("%6d  %s" % (times, word))

if "://" not in target:
    # On a cluster each executor writes its part to its own disk: what is to come home is written by the driver.
    os.makedirs(target, exist_ok=True)
    with open(os.path.join(target, "counts.json"), "w") as file:
        json.dump({row["word"]: row["count"] for row in counts.collect()}, file, indent=1)
else:
    counts.write.mode("overwrite").csv(target)
spark.stop()
