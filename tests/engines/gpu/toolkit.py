#!/usr/bin/python3
"""Stands in for NVIDIA's container toolkit, by the name that it is called by; real are the engine and the container.

- nvidia-container-runtime-hook: what an engine with `--gpus` has runc call; puts the driver's files into the container's root
- nvidia-container-runtime: the runtime `nvidia`; has runc mount the files
- nvidia-docker: the old program before `docker`; adds the mounts to its words

Standard library only: it runs on a test host as well. The driver lies in the folder beside this one.
"""

import json
import os
import platform
import shutil
import subprocess
import sys

DRIVER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "driver")
LIBRARIES = f"/usr/lib/{platform.machine()}-linux-gnu"
FILES = {
    DRIVER + "/lib/libnvidia-ml.so.1": LIBRARIES + "/libnvidia-ml.so.1",
    DRIVER + "/bin/nvidia-smi": "/usr/bin/nvidia-smi",
}
CONTROL = "/dev/nvidiactl"  # in truth /dev/null


def main():
    name = os.path.basename(sys.argv[0])
    if name == "nvidia-container-runtime-hook":
        hook()
    elif name == "nvidia-container-runtime":
        runtime(sys.argv[1:])
    else:
        nvidia_docker(sys.argv[1:])


def hook():
    if sys.argv[1:] != ["prestart"]:
        return
    state = json.load(sys.stdin)
    config = read(os.path.join(state["bundle"], "config.json"))
    wanted = visible(config)
    if wanted:
        root = os.path.join(state["bundle"], config["root"]["path"])
        for source, there in files_for(wanted).items():
            os.makedirs(os.path.dirname(root + there), exist_ok=True)
            shutil.copy(source, root + there)
        # /dev is mounted already, where the container sees it and we do not.
        enter = ["nsenter", f"--target={state['pid']}", "--mount", "--"]
        subprocess.check_call([*enter, "mknod", "--mode=666", root + CONTROL, "c", "1", "3"])


def runtime(words):
    if "create" in words:
        path = os.path.join(words[words.index("--bundle") + 1], "config.json")
        config = read(path)
        wanted = visible(config)
        if wanted:
            for source, there in files_for(wanted).items():
                mount = {"source": source, "destination": there, "type": "bind", "options": ["ro", "rbind"]}
                config["mounts"].append(mount)
            node = {"path": CONTROL, "type": "c", "major": 1, "minor": 3, "fileMode": 0o666}
            config["linux"].setdefault("devices", []).append(node)
            with open(path, "w") as file:
                json.dump(config, file)
    os.execvp("runc", ["runc", *words])


def nvidia_docker(words):
    if words[:1] in (["run"], ["create"]):
        files = files_for(os.environ.get("NV_GPU", "all"))
        volumes = [f"--volume={source}:{there}:ro" for source, there in sorted(files.items())]
        words[1:1] = [f"--device=/dev/null:{CONTROL}", *volumes]
    os.execvp("docker", ["docker", *words])


def read(path):
    with open(path) as file:
        return json.load(file)


def visible(config):
    """Which devices the container is to see, as its variable says; empty for none."""
    env = dict(item.split("=", 1) for item in config["process"]["env"])
    wanted = env.get("NVIDIA_VISIBLE_DEVICES", "void")
    return "" if wanted in ("void", "none") else wanted


def files_for(wanted):
    """The driver's files with their places inside; of the devices, those that are wanted."""
    folder, numbers = DRIVER + "/lib/nvidia-devices", {}
    if not os.path.isdir(folder):
        sys.exit("nvidia-container-cli: initialization error: nvml error: driver not loaded")
    for number in sorted(os.listdir(folder)):
        with open(f"{folder}/{number}") as file:
            uuid = file.read().split()[0]
        numbers[number] = numbers[uuid] = number
    files = dict(FILES)
    for word in sorted(set(numbers.values())) if wanted == "all" else wanted.split(","):
        if word not in numbers:
            sys.exit(f"nvidia-container-cli: device error: {word}: unknown device")
        files[f"{folder}/{numbers[word]}"] = f"{LIBRARIES}/nvidia-devices/{numbers[word]}"
    return files


if __name__ == "__main__":
    main()
