"""Artifacts. The client writes them itself, into outputs/: here they are only listed."""

import os
from urllib.parse import unquote_to_bytes

from jig_mlflow.failure import invalid
from jig_mlflow.model_calls import find_one

MOST_FILES = 10000


def of_run(record, asked):
    """What lies in a folder of a run's."""
    run = record.run(asked.run_id())
    return dict(_listed(run.artifacts, asked.text("path")), root_uri=run.artifacts)


def of_model(record, asked):
    """What lies in a folder of a logged model's."""
    model = find_one(record, asked)
    return dict(_listed(model.artifacts, asked.text("artifact_directory_path")), root_uri=model.artifacts)


def _listed(uri, path):
    root = os.fsdecode(unquote_to_bytes(uri[len("file://") :]))
    place = os.path.join(root, path)
    within = os.path.realpath(root)
    if "\0" in path or (os.path.realpath(place) + "/").find(within + "/") != 0:
        raise invalid("Invalid path: '%s'" % path)
    try:
        names = sorted(os.listdir(place))[:MOST_FILES]
    except OSError:  # not there, or a file
        return {"files": []}
    files = []
    for name in names:
        try:
            is_dir, size = os.path.isdir(os.path.join(place, name)), os.path.getsize(os.path.join(place, name))
        except OSError:  # it has just gone, or leads nowhere
            continue
        about = {"path": os.path.normpath(os.path.join(path, name)), "is_dir": is_dir}
        files.append(about if is_dir else dict(about, file_size=size))
    return {"files": files}
