# The first process of a host: nothing of the last boot is left but its disks. Collects orphans; ends with its standard input,
# and with it, by the kernel's rule for the first process of a pid namespace, every process of the host.
set -eu
mount -t proc proc /proc  # over that of the last boot, which umount cannot take away without a living one
for place in /tmp /run /dev/shm; do
    ! mountpoint -q $place || umount -l $place
    mount -t tmpfs -o mode=1777 tmpfs $place
done
chmod 755 /run
mkdir /run/sshd
cat /proc/sys/kernel/random/uuid > /run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
echo up
read -r || :
