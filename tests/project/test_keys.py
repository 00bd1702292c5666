import os
import re

import pytest

from jig.project import keys

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "reference", "files.md")


def sections():
    with open(PAGE, encoding="utf-8") as stream:
        return dict(re.findall(r"^##+ (.*?)\n(.*?)(?=^##|\Z)", stream.read(), re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    ("heading", "known"),
    [
        ("`<name>.compute`", keys.COMPUTE),
        (
            "`<name>.runconfig`",
            keys.RUN
            + keys.VARIABLE
            + keys.IDLE_GPU
            + keys.DISTRIBUTED
            + keys.COMPRESSION
            + keys.DATA_SOURCE
            + keys.SAMPLING,
        ),
        ("`conda_dependencies.yml`", keys.CONDA + keys.CONDA_NESTED),
        ("`spark_dependencies.yml`", keys.SPARK + keys.SPARK_SETTING + keys.SPARK_PACKAGE),
    ],
)
def test_every_key_has_a_row_in_the_file_reference_and_no_other_has(heading, known):
    rows = re.findall(r"^\| `(\w+)` \|", sections()[heading], re.MULTILINE)
    assert sorted(rows) == sorted(known)


@pytest.mark.parametrize("word", [*keys.KINDS, *keys.OLD_KINDS, *keys.FRAMEWORKS, *keys.YARN_DEPLOY_MODES])
def test_every_word_that_a_key_may_have_is_in_the_file_reference(word):
    assert f"`{word}`" in "".join(sections().values())
