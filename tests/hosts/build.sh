# The file tree of one host, in namespaces of its own (mount, network, name). $1: the host's folder; $2: its name.
# Programs are this machine's, read from /usr; everything else is the host's. Ends when the caller has taken hold of the namespaces.
set -eu
folder=$1
echo "$2" > /proc/sys/kernel/hostname
ip link set lo up

mount -t tmpfs -o mode=755 host "$folder/tree"
cd "$folder/tree"
mkdir etc home root var usr proc sys dev tmp run old opt srv mnt media
for name in etc home root var; do mount --bind "$folder/$name" $name; done
if [ -d /etc/alternatives ]; then  # hundreds of links: copied for each host they would take longer than all the rest
    mkdir etc/alternatives
    mount --bind /etc/alternatives etc/alternatives
    mount -o remount,bind,ro etc/alternatives
fi

# An overlay, so that a program can be taken away; its upper layer is in memory and seen nowhere else.
mount -t tmpfs upper "$folder/upper"
mkdir "$folder/upper/files" "$folder/upper/work"
(cd "$folder/upper" && mount -t overlay -o lowerdir=/usr,upperdir=files,workdir=work usr "$folder/tree/usr")
umount -l "$folder/upper"
for name in bin sbin lib lib32 lib64 libx32; do
    if [ -L /$name ]; then cp -P /$name .
    elif [ -d /$name ]; then mkdir $name; mount --bind /$name $name; mount -o remount,bind,ro $name
    fi
done
mount -t tmpfs -o mode=755 local usr/local
mkdir usr/local/bin usr/local/sbin usr/local/lib

mount -t sysfs -o ro sysfs sys
mount -t proc proc proc
mount -t tmpfs -o mode=755 dev dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for name in stdin:0 stdout:1 stderr:2; do ln -s "fd/${name#*:}" "dev/${name%:*}"; done

pivot_root . old
cd /
umount -l /old
umount -l /proc  # each boot brings its own
rmdir /old
echo built
read -r || :
