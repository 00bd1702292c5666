"""`%azureml` in a notebook: keep the cells that ran with the run, or do not, and keep a file with it."""

import os
import shutil
import time

CELLS = "cells.py"
USAGE = """\
%azureml history on      keep each cell that is executed with this run, in outputs/cells.py
%azureml history off     do not
%azureml upload FILE …   keep files with this run, in its outputs"""


class Cells:
    """What was executed, in its order, with the time it took."""

    def __init__(self, shell):
        self._shell = shell
        self._outputs = os.path.join(os.getcwd(), "outputs")
        self._began = None

    def before(self, *_):
        """A cell begins."""
        self._began = time.time()

    def after(self, result=None):
        """A cell has ended."""
        source = getattr(getattr(result, "info", None), "raw_cell", None)
        if source is None:  # an old IPython does not say; what it keeps itself is the same
            source = self._shell.user_ns.get("In", [""])[-1]
        if not source.strip() or self._began is None:
            return
        failed = result is not None and not result.success
        head = "# %%%% [%s] %.1f s%s" % (
            self._shell.execution_count - 1,
            time.time() - self._began,
            ", failed" if failed else "",
        )
        os.makedirs(self._outputs, exist_ok=True)
        with open(os.path.join(self._outputs, CELLS), "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write("%s\n%s\n\n" % (head, source.rstrip("\n")))

    def keep(self, is_on):
        """Begin, or cease, to write them down."""
        hooks = (("pre_run_cell", self.before), ("post_run_cell", self.after))
        for event, hook in hooks:
            if hook in self._shell.events.callbacks[event]:
                self._shell.events.unregister(event, hook)
            if is_on:
                self._shell.events.register(event, hook)

    def upload(self, path):
        """Keep a copy of a file in the run's outputs; one that is there already is kept anyway."""
        place = os.path.realpath(path)
        if os.path.commonpath([place, os.path.realpath(self._outputs)]) == os.path.realpath(self._outputs):
            return path
        kept = os.path.join(self._outputs, os.path.basename(place))
        os.makedirs(self._outputs, exist_ok=True)
        shutil.copyfile(place, kept)
        return os.path.relpath(kept, os.path.dirname(self._outputs))


def load(shell):
    """Let the kernel know the word, and begin to keep its cells where the run is kept."""
    cells = Cells(shell)

    def azureml(line):
        """Keep cells, or files, with this notebook's run."""
        words = line.split()
        if words[:1] == ["history"] and words[1:] in (["on"], ["off"]):
            cells.keep(words[1] == "on")
        elif words[:1] == ["upload"] and len(words) > 1:
            for path in words[1:]:
                print("kept with the run: " + cells.upload(path))
        else:
            print(USAGE)

    shell.register_magic_function(azureml, "line", "azureml")
    cells.keep(True)
