import pytest

from jig.runner.uv_output import Said, explain

NO_SOLUTION = (
    "Because nosuch was not found in the package registry and you require nosuch, "
    "we can conclude that your requirements are unsatisfiable"
)

NEW = f"""Using Python 3.11.7 environment at: env
error: No solution found when resolving dependencies
  cause: {NO_SOLUTION}.

hint: something to try
"""
OLD = """Using Python 3.11.7 environment at env
  × No solution found when resolving dependencies:
  ╰─▶ Because nosuch was not found in the package registry and you require
      nosuch, we can conclude that your requirements are unsatisfiable.
"""
DOWNLOAD = """  × Failed to download
  │ https://u:p@h/python.tar.gz
  ├─▶ Request failed after 3 retries
  ╰─▶ dns error: failed to lookup address information: Name or service not
      known
"""
BUILD = """error: Failed to build `bad @ https://user:word@h/bad.tar.gz?sig=secret`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta` failed (exit status: 1)

         [stderr]
         Traceback (most recent call last):
           File "<string>", line 14, in <module>
         ModuleNotFoundError: No module named 'numpy'

  hint: This usually indicates a problem with the package.
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (NEW, f"No solution found when resolving dependencies: {NO_SOLUTION}"),
        (OLD, f"No solution found when resolving dependencies: {NO_SOLUTION}"),
        (
            DOWNLOAD,
            "Failed to download https://***@h/python.tar.gz: Request failed after 3 retries: "
            "dns error: failed to lookup address information: Name or service not known",
        ),
        (
            BUILD,
            "Failed to build `bad @ https://***@h/bad.tar.gz?***`: The build backend returned an error: "
            "Call to `setuptools.build_meta` failed (exit status: 1): ModuleNotFoundError: No module named 'numpy'",
        ),
        ("error: first\n\nerror: second\n", "second"),
        ("error: fetching https://h/x.whl?sig=secret: refused\n", "fetching https://h/x.whl?***: refused"),
        ("Resolved 3 packages in 2ms\n", ""),
        ("", ""),
        ("error: " + "a" * 300 + "b" * 300, "a" * 200 + " … " + "b" * 200),
    ],
)
def test_the_last_error_is_one_sentence(text: str, sentence: str) -> None:
    assert explain(text) == sentence


def test_steps_are_told_when_their_line_is_whole() -> None:
    told: list[str] = []
    progress: list[str] = []
    said = Said(told.append, progress.append)
    said.hear(b"Using Python 3.11.7 environment\nResolved 1 pack")
    assert told == []
    said.hear(b"age in 3ms\nResolved 12 packages in 1m 02s\n")
    assert told == ["installing 1 package", "installing 12 packages"]
    said.hear("   Building bad @ file:///x\n\xff × \n".encode("latin-1", "replace"))
    assert told[2:] == ["building bad @ file:///x"]
    said.hear(b"Prepared 12 packages in 6.33s\nInstalled 12 packages in 297ms\n + six==1.17.0\n")
    assert said.steps == [("resolve", 0.003), ("resolve", 62.0), ("download", 6.33), ("install", 0.297)]
    assert (said.packages, progress) == (12, [])


def test_large_downloads_are_counted() -> None:
    progress: list[str] = []
    said = Said(lambda text: None, progress.append)
    said.hear(b"Downloading torch (1.5GiB)\nDownloading pandas (11.8MiB)\n")
    said.hear(b" Downloaded pandas\n")
    said.hear(b"Downloading cpython-3.12.1-linux-x86_64-gnu (download) (28.0MiB)\n")
    said.hear(b" Downloaded torch\n")
    assert progress == [
        "downloading: 0 of 2 large files are here, 0 of 1548 MiB",
        "downloading: 1 of 2 large files are here, 12 of 1548 MiB",
        "downloading: 1 of 3 large files are here, 12 of 1576 MiB",
        "downloading: 2 of 3 large files are here, 1548 of 1576 MiB",
    ]


def test_a_python_that_cannot_be_downloaded() -> None:
    text = (
        "error: Failed to install cpython-3.9.25-linux-x86_64-gnu\n"
        "  Caused by: Failed to download https://github.com/astral-sh/python-build-standalone/releases/x.tar.gz\n"
        "  Caused by: dns error\n"
    )
    sentence = "has no such Python, and uv could not download one: dns error"
    assert explain(text) == f"this machine {sentence}"
    assert explain(text, "the image base:1") == f"the image base:1 {sentence}"
