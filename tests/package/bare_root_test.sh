#!/usr/bin/env bash
# tests/package/bare_root_test.sh PACKAGE.tar.gz: trains, evaluates and replays in a root directory
# that holds the C library, the package and nothing else: no shell, no compiler, no Python. Needs to
# be root, or a system that lets users make namespaces.
set -euo pipefail
package=$(realpath "$1")
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT

# 1. The root.
mkdir -p "$root"/{proc,dev/shm,tmp,lib64,lib/x86_64-linux-gnu}
touch "$root/dev/null"
loader=$(realpath /lib64/ld-linux-x86-64.so.2)
cp "$loader" "$root/lib64/ld-linux-x86-64.so.2"
for library in libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libresolv.so.2; do
  cp -L "$(dirname "$loader")/$library" "$root/lib/x86_64-linux-gnu/"
done
tar -xf "$package" -C "$root" --strip-components=1

# run PROGRAM ARGUMENT...: in the root.
namespaces=(unshare --mount)
[ "$(id -u)" = 0 ] || namespaces+=(--map-root-user)
if ! "${namespaces[@]}" true; then
  echo "$0: not checked: this system lets nobody make namespaces" >&2
  exit 0
fi
run() {
  echo "+ $*" >&2
  "${namespaces[@]}" bash -euc '
    root=$1; shift
    mount --rbind /proc "$root/proc"
    mount --bind /dev/null "$root/dev/null"
    mount -t tmpfs tmpfs "$root/dev/shm"
    exec env -i "$(type -P chroot)" "$root" "$@"' bash "$root" "$@"
}
wants() { # wants TEXT COMMAND...: its output must contain TEXT
  local output
  output=$("${@:2}" 2>&1) || { echo "$output" >&2; echo "${*:2}: failed" >&2; exit 1; }
  [[ $output == *"$1"* ]] || { echo "$output" >&2; echo "${*:2}: no \"$1\"" >&2; exit 1; }
}

# 2. What a user does.
wants "portable with" run /bin/starling --version
wants " ok " run /bin/starling doctor
wants "/tmp/catch" run /bin/starling train /configs/catch.toml --set run.steps=20000 \
  --set actors.count=2 --run-dir /tmp/catch
wants "return" run /bin/starling eval /tmp/catch --episodes 4
wants "bit for bit" run /bin/starling replay /tmp/catch
echo "$(basename "$package") runs where nothing is installed" >&2
