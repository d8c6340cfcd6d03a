# Installs a Debian package in a layer above a system, runs it, purges it, and fails if that leaves anything behind.
#
#   bash debian.sh SYSTEM PACKAGE      in a mount namespace of its own
system=$1 package=$2
place=$(mktemp -d)
mount -t tmpfs tmpfs "$place"
mkdir "$place"/{changes,work,root}
mount -t overlay overlay -o "lowerdir=$system,upperdir=$place/changes,workdir=$place/work" "$place/root"
mount --rbind /proc "$place/root/proc"
mount -t tmpfs tmpfs "$place/root/tmp"
mount --rbind /dev "$place/root/dev"
cp "$package" "$place/root/tmp/metier.deb"
inside() { chroot "$place/root" env --ignore-environment HOME=/tmp/home PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
# Files that differ from the system's. The package manager keeps its own.
changed() { (cd "$place/changes" && find . ! -type d | grep -vE '^\./(var/lib/dpkg|var/log|var/cache/(man|ldconfig))/' | sort) || true; }

began=$EPOCHREALTIME
inside dpkg --install /tmp/metier.deb
inside metier tour --fast | grep -F 'metier doctor'
echo ": from the start of the installation to the end of the tour: $(((${EPOCHREALTIME/./} - ${began/./}) / 1000)) ms"
inside dpkg --verify metier
for file in usr/bin/metier usr/share/man/man1/metier.1.gz usr/share/doc/metier/copyright usr/share/bash-completion/completions/metier; do
  # A system can be set up to leave out documentation.
  [ -e "$place/changes/$file" ] || grep -qsr path-exclude "$system/etc/dpkg/dpkg.cfg.d" || { echo "$file was not installed"; exit 1; }
done
inside sh -c 'test -x /usr/bin/metier'
inside dpkg --purge metier
left=$(changed)
[ -z "$left" ] || { printf 'files left after removal:\n%s\n' "$left"; exit 1; }
! inside dpkg --status metier 2>/dev/null || { echo "dpkg still lists the package"; exit 1; }
