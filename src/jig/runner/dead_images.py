"""Images that old projects name and no registry has any more, with what to write instead."""

CPU = "python:3.11"
CONDA = "continuumio/miniconda3"
SPARK = "mcr.microsoft.com/mmlspark/release"
GPU = "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04"
GONE = "the image %s is gone from Docker Hub"


def advice(reference: str) -> str:
    """What to put into the .compute file instead of an image that is gone; empty for any other image."""
    name = reference.strip()
    for registry in ("docker.io/", "index.docker.io/", "registry-1.docker.io/"):
        name = name[len(registry) :] if name.startswith(registry) else name
    repository, _, tag = name.partition(":")
    if repository != "microsoft/mmlspark":
        return ""
    write = "write `baseDockerImage: %s` into the .compute file" % CPU
    if "gpu" in tag:
        return "%s: PyTorch, TensorFlow and JAX bring CUDA; for packages that look for it in the image, `%s`" % (
            write,
            GPU,
        )
    return write + ", `%s` for one with conda, or `%s` for Spark" % (CONDA, SPARK)
