import pytest

from jig.runner.conda_errors import explain_fetch, explain_solve, missing, wrong_hash

NO_SOLUTION = "Cannot solve the request because of: "
CONFLICT = f"""{NO_SOLUTION}The following packages are incompatible
├─ right * can be installed with any of the following options:
│  └─ right 1.0 | 1.1 would require
│     └─ zlib >=1.3, which can be installed with any of the following options:
│        └─ zlib 1.3
└─ left * cannot be installed because there are no viable options:
   └─ left 1.0 | 1.1 | 1.2 | 1.3 would require
      └─ zlib 1.2.*, which cannot be installed because there are no viable options:
         └─ zlib 1.2, which conflicts with the versions reported above.
"""
TWO_WAYS = f"""{NO_SOLUTION}The following packages are incompatible
├─ numpy * cannot be installed because there are no viable options:
│  ├─ numpy 1.0 | 1.1 | 1.2 would require
│  │  └─ python 3.12.*, which cannot be installed because there are no viable options:
│  │     └─ python 3.12.1, which conflicts with the versions reported above.
│  └─ numpy 1.0 | 1.1 | 1.2 would require
│     └─ python 3.11.*, which cannot be installed because there are no viable options:
│        └─ python 3.11.7, which conflicts with the versions reported above.
├─ python * can be installed with any of the following options:
│  └─ python 3.11.7 | 3.12.1
└─ python 3.5.* cannot be installed because there are no viable options:
   └─ python 3.5.2, which conflicts with the versions reported above.
"""
THREE = f"""{NO_SOLUTION}The following packages are incompatible
├─ python 3.11.* can be installed with any of the following options:
│  └─ python 3.11.7
└─ tf * cannot be installed because there are no viable options:
   └─ tf 1.0 would require
      ├─ numpy *, which can be installed with any of the following options:
      │  └─ numpy 1.0 would require
      │     └─ python >=3.4, which can be installed with any of the following options:
      │        └─ python 3.11.7
      └─ python 3.5.*, which cannot be installed because there are no viable options:
         └─ python 3.5.2, which conflicts with the versions reported above.
"""
CONSTRAINED = f"""{NO_SOLUTION}The following packages are incompatible
├─ zlib 1.3.* can be installed with any of the following options:
│  └─ zlib 1.3
└─ cons * cannot be installed because there are no viable options:
   └─ cons 1.0 would constrain
      └─ zlib <1.3, which conflicts with any installable versions previously reported
"""
DEEP = f"""{NO_SOLUTION}deep * cannot be installed because there are no viable options:
└─ deep 1.0 would require
   └─ lib *, which cannot be installed because there are no viable options:
      └─ lib 1.0 would require
         └─ WANTED, for which no candidates were found.
"""
OTHER_BUILDS = f"""{NO_SOLUTION}gpu * cannot be installed because there are no viable options:
└─ gpu 1.0 would require
   └─ __cuda >=12, for which no candidates were found.
{CONFLICT.removeprefix(NO_SOLUTION)}"""
PRIORITY = f"""{NO_SOLUTION}The following packages are incompatible
└─ lib 2.0.* cannot be installed because there are no viable options:
   └─ lib 2.0 is excluded because due to strict channel priority not using this option from: 'https://h/two/'
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (CONFLICT, "left 1.0 | … | 1.3 needs zlib 1.2.*, but right 1.0 | 1.1 needs zlib >=1.3"),
        (OTHER_BUILDS, "left 1.0 | … | 1.3 needs zlib 1.2.*, but right 1.0 | 1.1 needs zlib >=1.3"),
        (TWO_WAYS, "the file asks for python 3.5.*, but numpy 1.0 | 1.1 | 1.2 needs python 3.11.* or 3.12.*"),
        (
            THREE,
            "the file asks for python 3.11.*, numpy 1.0 needs python >=3.4, but tf 1.0 needs python 3.5.*",
        ),
        (CONSTRAINED, "the file asks for zlib 1.3.*, but cons 1.0 only goes with zlib <1.3"),
        (DEEP.replace("WANTED", "nowhere >=2"), "lib 1.0 needs nowhere >=2, which no channel has"),
        (DEEP.replace("WANTED", "__glibc >=2.34"), "lib 1.0 needs glibc >=2.34, but the machine has glibc 2.31"),
        (DEEP.replace("WANTED", "__cuda >=12"), "lib 1.0 needs CUDA >=12, but the machine has no CUDA"),
        (DEEP.replace("WANTED", "__win *"), "lib 1.0 needs Windows, but the machine has no Windows"),
        (
            DEEP.replace("WANTED", "__archspec 1 zen4"),
            "lib 1.0 needs __archspec 1 zen4, but the machine has __archspec 1",
        ),
        (
            PRIORITY,
            "lib 2.0 is only in https://h/two, and lib is taken from the first channel that has it: "
            "https://h/two::lib asks for this one",
        ),
        (f"{NO_SOLUTION}something never seen\n└─ before", "something never seen"),
        ("", ""),
    ],
)
def test_no_solution(text: str, sentence: str) -> None:
    assert explain_solve(text, {"__glibc": "2.31", "__archspec": "1=x86_64"}) == sentence


def test_what_no_channel_has() -> None:
    text = f"{NO_SOLUTION}No candidates were found for python 3.6.*.\n"
    assert missing(text) == "python 3.6.*"
    assert explain_solve(text, {}) == "no channel has python 3.6.*"
    assert explain_solve(text, {}, ["3.5", "3.7"]) == "no channel has python 3.6.* (there is 3.5, 3.7)"
    many = [f"3.{minor}" for minor in range(7, 15)]
    sentence = "no channel has python 3.6.* (there is 3.7, 3.8, 3.9, …, 3.12, 3.13, 3.14)"
    assert explain_solve(text, {}, many) == sentence
    assert missing(f"{NO_SOLUTION}No candidates were found for nosuch *.\n") == "nosuch"
    assert missing(CONFLICT) == missing("") == ""


def chain(*causes: str) -> str:
    return "\nCaused by: ".join(causes)


FETCH = ("failed to fetch zlib-1.3-0.conda", "failed to interact with the package cache layer.")
URL = "https://h/c/noarch/zlib-1.3-0.conda"
A, B = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            chain(*FETCH, f"HTTP status client error (404 Not Found) for url ({URL})"),
            f"zlib-1.3-0.conda could not be fetched: {URL} answers 404 Not Found",
        ),
        (
            chain(*FETCH, "HTTP status client error (403 Forbidden) for url (https://u:p@h/t/tk-1/c/x.conda)"),
            "zlib-1.3-0.conda could not be fetched: https://***@h/t/***/c/x.conda answers 403 Forbidden, "
            "which means that it wants a login",
        ),
        (
            chain(*FETCH, f"hash mismatch when extracting {URL} to /c: expected {A}, got {B}, total size 20929 bytes"),
            f"zlib-1.3-0.conda is not the file that was asked for: its sha256 is {B}, not {A}",
        ),
        (
            chain(*FETCH, "an io error occurred: failed to unpack `share/z`: Invalid checksum", "Invalid checksum"),
            "zlib-1.3-0.conda is damaged: Invalid checksum",
        ),
        (
            chain(*FETCH, "an io error occurred: error reading a body", "end of file before message length reached"),
            "zlib-1.3-0.conda could not be fetched: the connection broke off before the end",
        ),
        (
            chain(*FETCH, "an io error occurred: No space left on device (os error 28)"),
            "zlib-1.3-0.conda could not be fetched: there is no space left on the disk",
        ),
        (
            chain(
                "Request failed after 3 retries",
                "error sending request for url (https://h:8/c/noarch/repodata_shards.msgpack.zst)",
                "client error (Connect)",
                "dns error",
                "error resolving DNS",
                "failed to lookup address information: Name or service not known",
            ),
            "h:8 cannot be reached: failed to lookup address information: Name or service not known",
        ),
        (
            chain(
                "could not find subdir 'noarch' in channel 'https://h/c/'",
                "HTTP status client error (404 Not Found) for url (https://h/c/noarch/repodata.json)",
            ),
            "there is no conda channel at https://h/c/ (404)",
        ),
        (
            chain(
                "failed to link 'share/where.bin'",
                "an io error occurred: the target prefix is too long",
                "the target prefix is too long",
            ),
            "failed to link 'share/where.bin': the target prefix is too long",
        ),
        (chain("a" * 300, "b" * 300), "a" * 200 + " … " + "b" * 200),
        ("", ""),
    ],
)
def test_what_failed_on_the_way(text: str, sentence: str) -> None:
    assert explain_fetch(text) == sentence


def test_another_file_than_the_one_that_was_chosen() -> None:
    sentence = f"x.conda is not the file that was asked for: its sha256 is {B}, not {A}"
    assert wrong_hash("x.conda", A, B) == sentence
