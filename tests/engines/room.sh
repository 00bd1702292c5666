# Where an engine lives: mounts and processes of its own, all of them gone with this first process, which ends with its standard
# input. $1: the engine's folder; $2: "own" when the network is its own too.
set -eu
# What an engine writes outside its folder, whatever it is told: sockets of shims under /run, its key under /etc.
for name in run etc; do
    mkdir "$1/$name" "$1/$name/files" "$1/$name/work"
    mount -t overlay -o "lowerdir=/$name,upperdir=$1/$name/files,workdir=$1/$name/work" "$name" "/$name"
done
[ "$2" != own ] || ip link set lo up
echo up
read -r || :
