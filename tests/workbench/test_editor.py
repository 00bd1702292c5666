"""The editor: checks as one types, the form beside the text, and files that change elsewhere."""

import shutil
import socket

from playwright.sync_api import expect

from tests.conftest import until
from tests.workbench.far_away import relay
from tests.workbench.test_files import files, node
from tests.workbench.test_projects import button

CONTAINER = """\
# my machine
type: localdocker
baseDockerImage: old/image:1  # to be replaced
# nvidiaDocker: true
"""


def text_of(page) -> str:
    return page.evaluate("[...document.querySelectorAll('.cm-line')].map(e => e.textContent).join('\\n')")


def type_at_end(page, text):
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


def test_faults_are_shown_as_one_types_in_the_words_of_the_command_line(server, browse, project, cli):
    page = files(browse, server)
    node(page, "local.runconfig").click()
    expect(page.get_by_text("No faults were found.")).to_be_visible()
    type_at_end(page, "Framwork: Python\nGpus: many")
    faults = page.locator(".jig-fault")
    expect(faults).to_have_count(2)
    expect(page.locator(".jig-fault-line")).to_have_count(2)
    page.keyboard.press("Control+s")
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    said = cli("submit", "-c", "local", "x.py").err
    for shown in faults.all():
        place, message, fix = shown.inner_text().splitlines()
        assert f"aml_config/{place}: {message}\n" in said
        assert f"    {fix}\n" in said


def test_a_fault_that_a_machine_can_mend_has_a_button_that_does(server, browse, project):
    project.write("aml_config/docker.compute", CONTAINER)
    project.write("aml_config/conda_dependencies.yml", "dependencies:\n  - numpy: 1.4  # why\n  - pandas\n")
    page = files(browse, server)
    node(page, "docker.compute").click()
    expect(page.get_by_text("No faults were found.")).to_be_visible()
    type_at_end(page, "nvidiaDoker: true\nhost: there")
    expect(page.locator(".jig-fault")).to_have_count(2)
    fix = page.locator(".jig-fix-button")
    expect(fix).to_have_count(1)  # what a host would be, nobody can know
    expect(fix).to_have_attribute("aria-label", "Fix: `nvidiaDoker` is not a key of a .compute file")
    fix.click()
    expect(page.locator(".jig-fault")).to_have_count(1)
    assert text_of(page) == CONTAINER + "nvidiaDocker: true\nhost: there"
    page.keyboard.press("Control+s")
    node(page, "conda_dependencies.yml").click()
    fix.click()
    expect(page.get_by_text("No faults were found.")).to_be_visible()
    assert text_of(page) == "dependencies:\n  - numpy=1.4  # why\n  - pandas\n"


def test_keys_are_completed(server, browse, project):
    page = files(browse, server)
    node(page, "local.runconfig").click()
    expect(page.get_by_text("No faults were found.")).to_be_visible()
    type_at_end(page, "Requ")
    page.locator(".cm-tooltip-autocomplete li").get_by_text("RequireGpu").click()
    expect(page.locator(".cm-content")).to_contain_text("RequireGpu:")


def test_the_form_changes_the_text_and_comments_survive(server, browse, project):
    place = project.write("aml_config/docker.compute", CONTAINER)
    project.runconfig("docker", Framework="PySpark")
    project.write("aml_config/conda_dependencies.yml", "# mine\ndependencies:\n  - python=3.12\n")
    page = files(browse, server)
    node(page, "docker.compute").click()
    form = page.get_by_role("complementary", name="Settings")
    form.get_by_role("switch", name="Use the machine's NVIDIA GPUs").click()
    expect(page.locator(".cm-content")).to_contain_text("# my machine")
    image = form.get_by_label("Image (baseDockerImage)")
    expect(image).to_have_value("old/image:1")
    expect(page.get_by_text("not saved")).to_be_visible()
    image.fill("nvidia/cuda:12.6.3-base-ubuntu24.04")
    image.press("Enter")
    expect(page.locator(".cm-content")).to_contain_text("nvidia/cuda:12.6.3-base-ubuntu24.04  # to be replaced")
    button(page, "Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    assert place.read_text() == CONTAINER.replace("# nvidiaD", "nvidiaD").replace(
        "old/image:1", "nvidia/cuda:12.6.3-base-ubuntu24.04"
    )
    node(page, "docker.runconfig").click()
    form.get_by_role("combobox", name="Framework").click()
    page.get_by_role("option", name="Python").click()
    expect(page.locator(".cm-content")).to_contain_text("Framework: Python")
    button(page, "Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    node(page, "conda_dependencies.yml").click()
    form.get_by_label("Add a pip package").fill("torch==2.4")
    form.get_by_label("Add a pip package").press("Enter")
    expect(form.locator("li .jig-package")).to_have_text(["python=3.12", "torch==2.4"])
    button(page, "Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    saved = (project.path / "aml_config/conda_dependencies.yml").read_text()
    assert saved == "# mine\ndependencies:\n  - python=3.12\n  - pip:\n    - torch==2.4\n"
    button(page, "Remove python=3.12").click()
    expect(form.locator("li .jig-package")).to_have_text(["torch==2.4"])
    button(page, "Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()


def test_a_form_that_cannot_be_sure_says_so(server, browse, project):
    project.write("aml_config/docker.compute", "{type: localdocker, baseDockerImage: a}\n")
    page = files(browse, server)
    node(page, "docker.compute").click()
    page.get_by_role("switch", name="Use the machine's NVIDIA GPUs").click()
    expect(page.get_by_role("alert")).to_contain_text("`nvidiaDocker` cannot be changed safely from here")


def test_a_change_elsewhere_is_taken_over_where_nothing_is_unsaved(server, browse, project):
    project.write("a.py", "one = 1\n")
    page = files(browse, server)
    node(page, "a.py").click()
    expect(page.locator(".cm-content")).to_contain_text("one = 1")
    project.write("a.py", "two = 2\n")
    expect(page.locator(".cm-content")).to_contain_text("two = 2")


def test_a_change_elsewhere_while_one_types_is_asked_about(server, browse, project):
    place = project.write("a.py", "one = 1\n")
    page = files(browse, server)
    node(page, "a.py").click()
    type_at_end(page, "mine = True")
    expect(page.get_by_text("not saved")).to_be_visible()
    project.write("a.py", "theirs = 1\n")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("a.py was changed by something else")
    dialog.get_by_role("button", name="Take theirs").click()
    expect(page.locator(".cm-content")).to_contain_text("theirs = 1")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+z")
    expect(page.locator(".cm-content")).to_contain_text("mine = True")  # nothing is lost
    project.write("a.py", "theirs = 2\n")
    expect(dialog).to_be_visible()
    assert place.read_text() == "theirs = 2\n"
    dialog.get_by_role("button", name="Keep mine").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    assert "mine = True" in place.read_text()


def test_another_file_is_not_opened_over_what_is_unsaved(server, browse, project):
    place = project.write("a.py", "one = 1\n")
    project.write("b.py", "b = 1\n")
    page = files(browse, server)
    node(page, "a.py").click()
    type_at_end(page, "mine = True")
    expect(page.get_by_text("not saved")).to_be_visible()
    node(page, "b.py").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator(".jig-path-name")).to_have_text("a.py")
    node(page, "b.py").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".jig-path-name")).to_have_text("b.py")
    assert place.read_text() == "one = 1\nmine = True"


def test_what_is_edited_is_saved_before_it_runs(server, browse, project, jig_home):
    place = project.write("hello.py", "print('old')\n")
    page = files(browse, server)
    node(page, "hello.py").click()
    expect(page.locator(".cm-content")).to_contain_text("old")
    type_at_end(page, "print('new')\n")
    page.get_by_label("Script", exact=True).fill("hello.py")
    button(page, "Run").click()
    expect(page.get_by_text("was submitted")).to_be_visible()
    assert place.read_text() == "print('old')\nprint('new')\n"
    (run,) = (jig_home / "runs").glob("proj_*")
    assert until(lambda: (run / "output.log").exists() and (run / "output.log").read_text() == "old\nnew\n")


def test_a_page_that_stays_when_another_project_is_opened_writes_into_its_own(serve, browse, project, tmp_path):
    mine = project.write("train.py", "one = 1\n")
    other = tmp_path / "other"
    shutil.copytree(project.path, other)
    server = serve(project.path)
    page = files(browse, server)
    node(page, "train.py").click()
    type_at_end(page, "mine = True")
    expect(page.get_by_text("not saved")).to_be_visible()
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))  # "Leave the page?": no
    second = browse(server)
    second.get_by_label("Folder of the project").fill(str(other))
    button(second, "Open").click()
    expect(second.locator(".jig-project")).to_have_text("other")
    expect(page.get_by_text("not saved")).to_be_visible()
    until(lambda: asked or page.evaluate("0"), what="the question of the browser")
    assert asked == ["beforeunload"]
    button(page, "Run").click()
    expect(page.get_by_role("alert")).to_contain_text(f"this page is of {project.path}, and another project is open")
    button(page, "Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert mine.read_text() == "one = 1\n"
    page.locator(".cm-content").click()
    page.keyboard.press("Control+s")
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    assert mine.read_text() == "one = 1\nmine = True"
    node(page, "local.runconfig").click()
    expect(page.get_by_text("No faults were found.")).to_be_visible()
    button(page, "Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(node(page, "local.runconfig")).to_have_count(0)
    assert not (project.path / "aml_config/local.runconfig").exists()
    assert (other / "aml_config/local.runconfig").exists()
    assert (other / "train.py").read_text() == "one = 1\n"


def test_nothing_that_is_typed_is_lost_on_a_slow_way_to_the_server(serve, browse, project):
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        taken.close()
        server = serve(project.path, f"--port={port}", f"--origin=http://127.0.0.1:{listening.getsockname()[1]}")
        with relay(listening, port, delay_s=0.2):
            page = files(browse, server)
            node(page, "local.runconfig").click()
            expect(page.get_by_text("No faults were found.")).to_be_visible()
            before = text_of(page)
            type_at_end(page, "")
            for key in "Gpus: 12\n# of two":  # the check of one key is under way when the next one is typed
                page.keyboard.type(key)
                page.wait_for_timeout(330)
            assert text_of(page) == before + "Gpus: 12\n# of two"
            page.keyboard.press("Control+s")
            expect(page.get_by_text("saved", exact=True)).to_be_visible()
            page.close()
    assert (project.path / "aml_config/local.runconfig").read_text().endswith("Gpus: 12\n# of two")


def test_a_long_file_is_shown_at_once_and_only_what_is_seen_of_it_is_drawn(server, browse, project):
    project.write("long.py", "x = 1\n" * 300_000)
    page = files(browse, server)
    node(page, "long.py").click()
    expect(page.locator(".jig-path-name")).to_have_text("long.py", timeout=5_000)
    expect(page.locator(".cm-content")).to_contain_text("x = 1", timeout=5_000)
    assert page.locator(".cm-line").count() < 1000
