import base64

import pytest

from jig.runner.conda_credentials import Credentials, hide_credentials, without_credentials


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://h/c", "https://h/c"),
        ("https://user:word@h:8080/c/label/x", "https://h:8080/c/label/x"),
        ("HTTPS://user:w@rd@h/c", "HTTPS://h/c"),
        ("https://key@h", "https://h"),
        ("https://h/t/tk-1/c", "https://h/c"),
        ("https://h/t/tk-1", "https://h"),
        ("https://user:word@h/t/tk-1/c/", "https://h/c/"),
        ("https://h/team/t/c", "https://h/team/t/c"),
        ("https://user:word@h/api/conda/t/tk-1/c/label/x", "https://h/api/conda/c/label/x"),
        ("file:///a/b@c/t/d", "file:///a/b@c/t/d"),
        ("conda-forge", "conda-forge"),
    ],
)
def test_a_url_without_its_credentials(url: str, clean: str) -> None:
    assert without_credentials(url) == clean
    assert Credentials([url]).channels == [clean]


def test_what_goes_with_a_request() -> None:
    urls = ["https://user:w%40rd@H:8080/private", "https://h/public", "https://h/t/tk-1/tokens", "https://key@k/"]
    credentials = Credentials([*urls, "https://h/api/t/tk-2/c"])
    basic = {"Authorization": "Basic " + base64.b64encode(b"user:w@rd").decode()}
    assert credentials.headers("h", "/private/noarch/repodata.json") == basic
    assert credentials.headers("h", "/privateer/noarch/repodata.json") is None
    assert credentials.headers("other", "/private/noarch/repodata.json") is None
    assert credentials.headers("k", "/c/x") == {"Authorization": "Basic " + base64.b64encode(b"key:").decode()}
    tokens = {"https://h/tokens": ["https://h/t/tk-1/tokens"], "https://h/api/c": ["https://h/api/t/tk-2/c"]}
    assert credentials.mirrors == tokens


def test_a_text_without_credentials() -> None:
    text = "no https://u:w@rd@h/c, http://h:8/t/tk-1/c or http://h/api/t/tk-2/c, but https://h/a@b and mail@h"
    hidden = "no https://***@h/c, http://h:8/t/***/c or http://h/api/t/***/c, but https://h/a@b and mail@h"
    assert hide_credentials(text) == hidden
