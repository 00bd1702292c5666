"""How our `azureml` gives way: a real package of that name is found and put in front, and ours fills its gaps."""

import os
import sys
from importlib.util import module_from_spec

_MARK = "_jig_face.py"
_HERE = os.path.dirname(os.path.abspath(__file__))

_settling = False


def settle(name):
    """Put the real package, where there is one, in the place of the module `name` that is being imported from here.

    A regular package or a module takes its place in sys.modules, with our folder last in its path; the portions of
    a namespace package come first in its path, and our folder last.
    """
    global _settling
    if _settling:  # setuptools' declare_namespace runs every `__init__` of that name again, ours too
        return
    spec = _find_real(name)
    if spec is None:
        return
    if spec.loader is None:
        sys.modules[name].__path__[:] = list(spec.submodule_search_locations) + [_HERE]
        return
    _settling = True
    try:
        _load(spec)
    finally:
        _settling = False
    # A package that gathers its path from sys.path has found our folder too, but not as the last one.
    real = sys.modules[name]
    real.__path__ = [folder for folder in getattr(real, "__path__", ()) if not _is_ours(folder)] + [_HERE]


def _load(spec):
    """Import the module into sys.modules, in the place of ours: the import statement gives out what stands there."""
    if hasattr(spec.loader, "exec_module"):
        sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[spec.name])
    else:  # zip files, before Python 3.10
        del sys.modules[spec.name]
        spec.loader.load_module(spec.name)


def _find_real(name):
    """What the import system would find if our folder were not there.

    Every finder is asked, and not only the one for sys.path: packages installed as editable have their own.
    """
    path = [entry for entry in sys.path if isinstance(entry, str) and not _is_ours(os.path.join(entry, name))]
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        spec = find_spec(name, path) if find_spec else None
        if spec is not None and not any(_is_ours(folder) for folder in spec.submodule_search_locations or ()):
            return spec
    return None


def _is_ours(folder):
    # Known by this file and not by the path: a run that was started inside a run has two such folders.
    return os.path.isfile(os.path.join(folder, _MARK))
