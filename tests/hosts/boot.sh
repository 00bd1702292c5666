# The first process of a host: nothing of the last boot is left but its disks. Collects orphans; ends with its standard input,
# and with it, by the kernel's rule for the first process of a pid namespace, every process of the host. $1, if any, takes its place.
set -eu
mount -t proc proc /proc  # over that of the last boot, which umount cannot take away without a living one
for place in /tmp /run /dev/shm; do
    ! mountpoint -q $place || umount -l $place
    mount -t tmpfs -o mode=1777 tmpfs $place
done
chmod 755 /run
mkdir /run/sshd
cat /proc/sys/kernel/random/uuid > /run/boot_id
if [ $# -gt 0 ]; then
    mount --bind -o ro /proc/sys /proc/sys  # it would set limits of this machine's kernel
    ! mountpoint -q /sys/fs/cgroup || umount -l /sys/fs/cgroup
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mkdir -p /run/systemd/seats /run/systemd/sessions /run/systemd/users /run/systemd/machines
fi
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
echo up
[ $# -eq 0 ] || exec env container=namespaces "$@" < /dev/null > /dev/null 2>&1
read -r || :
