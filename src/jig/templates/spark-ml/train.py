"""A pipeline of pyspark.ml: features, a logistic regression, its accuracy. train.py [--rows N] [--regularization R]"""

import argparse
import json
import os

from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.feature import StandardScaler, VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, rand, randn, when

import jig

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=20000)
parser.add_argument("--regularization", type=float, default=0.01)
given = parser.parse_args()
jig.params(rows=given.rows, regularization=given.regularization)

spark = SparkSession.builder.getOrCreate()
# Two clouds of points, which overlap a little.
points = spark.range(given.rows, numPartitions=4).withColumn("label", when(rand(7) < 0.5, 0.0).otherwise(1.0))
for index, name in enumerate(("x", "y", "z")):
    points = points.withColumn(name, randn(index) + col("label") * (2.0 - index * 0.5))
train, test = points.cache().randomSplit([0.8, 0.2], seed=1)

pipeline = Pipeline(
    stages=[
        VectorAssembler(inputCols=["x", "y", "z"], outputCol="raw"),
        StandardScaler(inputCol="raw", outputCol="features"),
        LogisticRegression(regParam=given.regularization, maxIter=20),
    ]
)
model = pipeline.fit(train)
fitted = model.stages[-1]
for step, loss in enumerate(fitted.summary.objectiveHistory):
    jig.log("loss", loss, step=step)

judged = model.transform(test).cache()
accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(judged)
area = BinaryClassificationEvaluator().evaluate(judged)
jig.log(accuracy=accuracy, area_under_roc=area)
print("accuracy %.4f, area under ROC %.4f, on %d rows" % (accuracy, area, judged.count()))

os.makedirs("outputs", exist_ok=True)
with open("outputs/model.json", "w") as file:
    json.dump({"weights": list(fitted.coefficients), "intercept": fitted.intercept}, file, indent=1)
spark.stop()
