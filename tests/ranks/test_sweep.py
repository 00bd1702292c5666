"""A sweep of a configuration with several processes: its runs are under torchrun, its own program is one."""

import json
from pathlib import Path

from jig.runner.folder import Home
from jig.sweep import children

SCRIPT = """
import os, sys
import jig
jig.log(score=int(sys.argv[1][4:]))
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])
"""


def test_a_sweep_of_several_processes(ranked, cli, jig_home):
    ranked.write("train.py", SCRIPT)
    ranked.write("sweep.yml", "script: train.py\nparameters: {x: [1, 2]}\nobjective: {metric: score}\n")
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert said.code == 0, said.out + said.err
    assert said.out.count("sweep of 2 points (grid)") == 1 and "torchrun" not in said.out
    runs = children.find(said.run_id)[0]
    assert [child.point for child in runs] == [1, 2]
    for child in runs:
        for rank in (0, 1):
            assert Path(child.folder.path, f"output.{rank}.log").read_text() == f"rank {rank} of 2\n"

    # Of an older jig the sweep's own plan has them.
    place = Path(Home(str(jig_home)).run(said.run_id).plan)
    plan = json.loads(place.read_text())
    assert plan["ranks"] is None
    plan["ranks"] = json.loads(Path(runs[0].folder.plan).read_text())["ranks"]
    place.write_text(json.dumps(plan))
    again = cli("sweep", "--resume", said.run_id)
    assert again.code == 0 and "torchrun" not in again.out, again.out + again.err
    assert f"going on with {said.run_id}: 2 done, 0 going\n" in again.out
