#!/usr/bin/env bash
# tests/package/bare_root_test.sh PACKAGE.tar.gz: trains, evaluates and replays in a root directory
# that holds the C library, the package and nothing else: no shell, no compiler, no Python. Needs a
# system that lets this user make namespaces.
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
  "${namespaces[@]}" bash -euc '
    PATH=$PATH:/usr/sbin:/sbin
    root=$1; shift
    mount --rbind /proc "$root/proc"
    mount --bind /dev/null "$root/dev/null"
    mount -t tmpfs tmpfs "$root/dev/shm"
    exec env -i "$(type -P chroot)" "$root" "$@"' bash "$root" "$@" 2>&1
}
# wants TEXT PROGRAM ARGUMENT...: its output must contain TEXT.
wants() {
  local output
  echo "+ ${*:2}" >&2
  output=$(run "${@:2}") || { echo "$output" >&2; echo "failed: ${*:2}" >&2; exit 1; }
  [[ $output == *"$1"* ]] || { echo "$output" >&2; echo "no \"$1\": ${*:2}" >&2; exit 1; }
}

# 2. What a user does.
wants "portable with" /bin/starling --version
wants " ok " /bin/starling doctor
# 3. Training and the same bits again, with every kind of instructions that this processor has.
for instructions in avx2 avx512 amx; do
  [[ $instructions == avx2 || $(run /bin/starling --version) == *"with $instructions"* ||
    ($instructions == avx512 && $(run /bin/starling --version) == *"with amx"*) ]] || continue
  precisions=(f32)
  [[ $instructions == avx2 || $(run /bin/starling doctor --json --only "cpu: loss") != *'"bf16": true'* ]] ||
    precisions+=(bf16)
  for precision in "${precisions[@]}"; do
    dir=/tmp/$instructions-$precision
    wants "eval $dir" /bin/starling train /configs/catch.toml --run-dir "$dir" \
      --set run.steps=20000 --set actors.count=2 --set net.hidden=[128,128] \
      --set "actors.instructions=$instructions" --set "net.precision=$precision"
    wants "mean return" /bin/starling eval "$dir" --episodes 4
    wants "bit for bit" /bin/starling replay "$dir"
  done
done
# 4. A program of a user's own acts with the policy.
cc -std=c99 -I "$root/include" "$root/examples/policy/catch.c" -o "$root/bin/catch" \
  -L "$root/lib" -lstarling -Wl,--disable-new-dtags,-rpath,'$ORIGIN/../lib'
wants "mean return" /bin/catch /tmp/avx2-f32
echo "$(basename "$package") runs where nothing is installed" >&2
