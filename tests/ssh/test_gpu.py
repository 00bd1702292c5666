"""GPUs of a machine over SSH: one that has none says so, in a run and when it is asked."""

NONE = "GPU: none (no NVIDIA driver on this machine)"


def test_a_machine_without_a_driver(box, project, cli):
    said = cli("gpu", "-c", "box")
    assert (said.code, said.out.splitlines()[0], said.err) == (0, NONE, "")
    assert said.out.endswith("`jig doctor -c box` tells more\n")
    assert cli("gpu", "-c", "box", "--query", "holders").json() == []
    project.runconfig("box", IdleGpu={"warn": "2m"})
    project.write("train.py", "print('on the processor')")
    said = box.submit("train.py")
    assert said.code == 0, said.out + said.err
    assert said.out.splitlines()[3:5] == [NONE, "on the processor"]
    record = cli("history", "info", "-o", "json").json()
    assert (record["gpu"]["verdict"], record["gpu_s"]) == ("no gpu", None)
