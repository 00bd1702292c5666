import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.environments.requirement import LineRefused, normalize

names = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,12}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda name: not name.lower().endswith((".whl", ".zip", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz"))
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("six", "six"),
        ("Scikit_Learn", "scikit-learn"),
        ("zope.interface", "zope-interface"),
        ("numpy == 1.26.4", "numpy==1.26.4"),
        ("numpy (>=1.20, <2)", "numpy<2,>=1.20"),
        ("numpy>=1.20,!=1.21.*,<2", "numpy!=1.21.*,<2,>=1.20"),
        ("torch==2.1.0+cu118", "torch==2.1.0+cu118"),
        ("pkg===1.0-weird", "pkg===1.0-weird"),
        ("Ray[ Tune , default ]~=2.9", "ray[default,tune]~=2.9"),
        ("ray[]", "ray"),
        ("six;python_version<'3.12'", 'six ; python_version < "3.12"'),
        (
            "six ; (os_name == 'posix' and python_version in '3.8 3.9') or extra=='x'",
            'six ; ( os_name == "posix" and python_version in "3.8 3.9" ) or extra == "x"',
        ),
        ("""six ; sys_platform == 'a"b'""", """six ; sys_platform == 'a"b'"""),
        ("CNTK @ https://h/c.whl", "cntk @ https://h/c.whl"),
        ("cntk@https://h/c.whl ; os_name=='posix'", 'cntk @ https://h/c.whl ; os_name == "posix"'),
        (
            "https://h/A_b-1.0-py3-none-any.whl?sv=1&sig=a%2Fb;c",
            "https://h/A_b-1.0-py3-none-any.whl?sv=1&sig=a%2Fb;c",
        ),
        ("https://h/x.whl#sha256=ab", "https://h/x.whl#sha256=ab"),
        ("git+https://h/r.git@main#egg=r", "git+https://h/r.git@main#egg=r"),
        ("https://${TOKEN}@h/x.whl", "https://${TOKEN}@h/x.whl"),
        ("/srv/my wheels/x-1.0-py3-none-any.whl", "file:///srv/my%20wheels/x-1.0-py3-none-any.whl"),
        ("file:///srv/x.whl", "file:///srv/x.whl"),
        ("six==1.0 --hash=sha256:BB --hash sha256:aa", "six==1.0 --hash=sha256:aa --hash=sha256:bb"),
        ("six==1.0 ; os_name=='x' --hash=sha256:aa", 'six==1.0 ; os_name == "x" --hash=sha256:aa'),
    ],
)
def test_a_requirement_has_one_way_of_writing(text: str, wanted: str) -> None:
    assert normalize(text) == wanted
    assert normalize(wanted) == wanted


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("numpy=1.2", "`numpy=1.2` has no version that pip can read", "write for example `numpy==1.2`"),
        ("numpy>=", "`numpy>=` has no version that pip can read", "write for example `numpy>=1.0,<2`"),
        ("numpy==1,", "`numpy==1,` has no version that pip can read", "write for example `numpy>=1.0,<2`"),
        ("numpy 1.2", "`numpy 1.2` is not a requirement that pip can read", "write `numpy==1.2`"),
        ("six seven", "`six seven` is not a requirement that pip can read", "write a name, and a version after it"),
        ("числа", "`числа` is not a requirement that pip can read", "write a name, and a version after it"),
        ("ray[a b]", "`ray[a b]`: `a b` is not the name of an extra", "write for example `name[extra]`"),
        ("x @ wheels/x.whl", "`x @ wheels/x.whl`: `wheels/x.whl` is not a URL", "write `x @ https://…`"),
        (
            "./x.whl",
            "`./x.whl` is a relative path, and there is no such file in the project",
            "write the path of a wheel from the conda file's folder, a URL, or a full path on the machine",
        ),
        (
            "x-1.0-py3-none-any.whl",
            "`x-1.0-py3-none-any.whl` is a relative path, and there is no such file in the project",
            "write the path of a wheel from the conda file's folder, a URL, or a full path on the machine",
        ),
        (
            "/home/me/package",
            "`/home/me/package` is a folder, whose content could change without the environment being built again",
            "name a wheel by its URL or full path, or keep the code in the project folder",
        ),
        (
            "six ; python_versoin < '3'",
            "`; python_versoin < '3'` is not a condition that pip can read: `python_versoin` is not known",
            "did you mean `python_version`?",
        ),
        (
            "six ; 3 < python_version",
            "`; 3 < python_version` is not a condition that pip can read",
            'write for example `; python_version < "3.12"`',
        ),
        ("six ;", "a semicolon stands with no condition after it", "remove it"),
        ("six --no-deps", "`--no-deps` cannot stand after a requirement", "give the option an entry of its own"),
        (
            "six --hash=sha256:xyz",
            "`--hash=sha256:xyz` is not a hash",
            "write `--hash=sha256:` and its hexadecimal digits",
        ),
    ],
)
def test_what_is_no_requirement_is_refused(text: str, message: str, fix: str) -> None:
    with pytest.raises(LineRefused) as refused:
        normalize(text)
    assert (refused.value.message, refused.value.fix) == (message, fix)


@given(names, st.sampled_from(["", "==1.0", ">=1,<2", " ; os_name == 'x'"]))
def test_normalizing_twice_is_normalizing_once(name: str, rest: str) -> None:
    assert normalize(normalize(name + rest)) == normalize(name + rest)


@given(names, st.data())
def test_case_and_separators_of_a_name_do_not_matter(name: str, data: st.DataObject) -> None:
    other = "".join(
        data.draw(st.sampled_from("-_.")) if c in "-_." else data.draw(st.sampled_from([c.lower(), c.upper()]))
        for c in name
    )
    if not other.lower().endswith((".whl", ".zip", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")):
        assert normalize(other) == normalize(name)


@given(st.text(max_size=40))
def test_any_text_is_one_line_or_refused(text: str) -> None:
    try:
        line = normalize(text.strip())
    except LineRefused as refused:
        assert refused.message
    else:
        assert line and line == line.strip()
