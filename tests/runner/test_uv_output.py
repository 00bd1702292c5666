from pathlib import Path

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


def test_steps_are_told_once_and_only_when_their_line_is_whole(tmp_path: Path) -> None:
    log, told = tmp_path / "log", []
    log.write_bytes(b"Resolved 9 packages in an earlier run\n")
    said = Said(str(log), log.stat().st_size, told.append)
    with open(log, "ab", buffering=0) as file:
        file.write(b"Using Python 3.11.7 environment\nResolved 1 pack")
        said.follow()
        assert told == []
        file.write(b"age in 3ms\nResolved 12 packages in 3ms\n")
        said.follow()
        said.follow()
        assert told == ["installing 1 package", "installing 12 packages"]
        file.write("Downloading torch (166.1MiB)\n   Building bad @ file:///x\n\xff × \n".encode("latin-1", "replace"))
        said.follow()
    assert told[2:] == ["downloading torch (166.1MiB)", "building bad @ file:///x"]
