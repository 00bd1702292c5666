"""The GPU frameworks that an interpreter would import, told by their files: none of them is imported.

It is read by that interpreter from its stdin, which may be a Python 3.5, and prints one line of JSON.
"""

import json
import mmap
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

_DISTRIBUTION = re.compile(r"([A-Za-z0-9_.]+)-([^-]+)(-py[\d.]+)?\.(dist|egg)-info$")
_TENSORFLOW = ("tensorflow", "tensorflow_gpu", "tensorflow_cpu", "intel_tensorflow", "tf_nightly")
_JAX_PLUGIN = re.compile(r"jax_cuda(\d\d)_plugin$")
_CUPY = re.compile(r"cupy_cuda(\d\d)(\d*)x?$")
# As torch/version.py has it: `cuda: Optional[str] = '12.6'`, `cuda = None`.
_TORCH_CUDA = re.compile(r"^cuda\b[^=\n]*= *(?:None|['\"]([\d.]+)['\"])", re.MULTILINE)
# What `torch.cuda.get_arch_list()` returns is one string in this library.
_TORCH_LIBRARY = "torch/lib/libtorch_python.so"
_TORCH_ARCHES = re.compile(rb"(?:sm|compute)_\d{2,3}[af]?(?: (?:sm|compute)_\d{2,3}[af]?)+\0")
_TENSORFLOW_ABOUT = "tensorflow/python/platform/build_info.py"
_LIBRARY = "libcuda.so.1"
_IMAGE_COMPAT = "/usr/local/cuda/compat"  # where NVIDIA's images have libraries of a newer driver


def look(folders: "Sequence[str]", prefix: str) -> "Dict[str, Any]":
    """What lies in the folders that packages are imported from; `builds` has what a GPU can be used with."""
    places = _distributions(folders)
    found = [_torch(places), _tensorflow(places), _jax(places), _cupy(places)]
    compat = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) + [os.path.join(prefix, "cuda-compat")]
    return {
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "builds": [build for build in found if build is not None],
        "compat": any(place and os.path.exists(os.path.join(place, _LIBRARY)) for place in compat),
        "image_compat": os.path.exists(os.path.join(_IMAGE_COMPAT, _LIBRARY)),
    }


def _distributions(folders: "Sequence[str]") -> "Dict[str, Tuple[str, str]]":
    """The version and the folder of every package; of two, the one that is imported."""
    found = {}  # type: Dict[str, Tuple[str, str]]
    for folder in folders:
        try:
            names = os.listdir(folder) if os.path.isabs(folder) else []
        except OSError:  # an archive, or a folder that is not there
            continue
        for name in sorted(names):
            match = _DISTRIBUTION.match(name)
            if match:
                found.setdefault(match.group(1).lower().replace(".", "_"), (match.group(2), folder))
    return found


def _build(name: str, version: str, cuda: "Optional[str]", arches: "Sequence[str]" = ()) -> "Dict[str, Any]":
    """`cuda` is empty for a build that computes on CPUs only, and None where it is not known."""
    return {"name": name, "version": version, "cuda": cuda, "arches": list(arches)}


def _text(*parts: str) -> str:
    try:
        with open(os.path.join(*parts), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _torch(places: "Dict[str, Tuple[str, str]]") -> "Optional[Dict[str, Any]]":
    if "torch" not in places:
        return None
    version, folder = places["torch"]
    cuda = _TORCH_CUDA.search(_text(folder, "torch", "version.py"))
    if cuda is None:
        return _build("torch", version, None)
    return _build("torch", version, cuda.group(1) or "", _torch_arches(folder) if cuda.group(1) else ())


def _torch_arches(folder: str) -> "List[str]":
    try:
        with open(os.path.join(folder, _TORCH_LIBRARY), "rb") as file:
            library = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with library:
            found = _TORCH_ARCHES.search(library)
            return found.group()[:-1].decode().split() if found else []
    except (OSError, ValueError):  # not there, or empty
        return []


def _tensorflow(places: "Dict[str, Tuple[str, str]]") -> "Optional[Dict[str, Any]]":
    name = next((name for name in _TENSORFLOW if name in places), "")
    if not name:
        return None
    version, folder = places[name]
    about = _text(folder, _TENSORFLOW_ABOUT)
    if not about:
        return _build("tensorflow", version, None)
    cuda = re.search(r"'cuda_version'\s*[,:]\s*'([\d.]+)'", about)
    arches = re.search(r"'cuda_compute_capabilities'\s*[,:]\s*\[([^\]]*)\]", about)
    is_cuda = re.search(r"'is_cuda_build'\s*[,:]\s*True", about) is not None
    if not is_cuda:
        return _build("tensorflow", version, "")
    words = re.findall(r"(?:sm|compute)_\d+", arches.group(1)) if arches else []
    return _build("tensorflow", version, cuda.group(1) if cuda else None, words)


def _jax(places: "Dict[str, Tuple[str, str]]") -> "Optional[Dict[str, Any]]":
    if "jaxlib" not in places:
        return None
    version = places["jaxlib"][0]
    plugins = [match.group(1) for match in map(_JAX_PLUGIN.match, sorted(places)) if match]
    old = re.search(r"\+cuda(\d\d)", version)  # before there were plugins
    major = plugins[-1] if plugins else old.group(1) if old else ""
    return _build("jax", version, major + ".0" if major else "")


def _cupy(places: "Dict[str, Tuple[str, str]]") -> "Optional[Dict[str, Any]]":
    for name in sorted(places):
        match = _CUPY.match(name)
        if match:
            return _build("cupy", places[name][0], "%s.%s" % (match.group(1), match.group(2) or "0"))
    return _build("cupy", places["cupy"][0], None) if "cupy" in places else None


if __name__ == "__main__":
    print(json.dumps(look(sys.path, sys.prefix)))
