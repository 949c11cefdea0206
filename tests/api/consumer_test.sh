#!/usr/bin/env bash
# tests/api/consumer_test.sh BUILD: the C libraries as programs outside of the tree meet them.
set -euo pipefail

build=$1
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() { echo "consumer_test: $*" >&2; exit 1; }
strict=(-Wall -Wextra -pedantic -Werror -I "$root/api")

# 1. A header for C of 1999 and for C++; a program that loads no sockets.
cc -std=c99 "${strict[@]}" "$root/examples/policy/catch.c" -o catch \
  -L "$build/lib" -lstarling -Wl,-rpath,"$build/lib"
for header in starling.h starling_seat.h; do
  c++ -std=c++98 -Wno-long-long "${strict[@]}" -fsyntax-only -x c++ - <<<"#include \"$header\""
done
loaded=$(ldd catch)
[[ $loaded == *"/libstarling.so."* && $loaded != *"not found"* ]] || fail "$loaded"
[[ ! $loaded =~ zmq|boost|msgpack|cublas ]] || fail "it loads $loaded"

# 2. Libraries that show nothing but their interface.
for name in starling starling_seat; do
  declared=$(sed -n 's/^STARLING_EXPORT .*\b\(starling_[a-z_]*\)(.*/\1/p' "$root/api/$name.h" | sort)
  shown=$(nm -D --defined-only "$build/lib/lib${name/_/-}.so" | awk '{print $3}' | sort)
  [ "$declared" = "$shown" ] || fail "declared and shown by $name differ:
$(diff <(echo "$declared") <(echo "$shown"))"
done

# 3. Trained here, it plays there.
"$build/bin/starling" train "$root/configs/catch.toml" --run-dir run >train.log 2>&1 ||
  fail "$(tail -n 5 train.log)"
grep -qa '"spaces":"{' run/checkpoints/*.safetensors || fail "its checkpoints hold no spaces"
said=$(./catch run 2>errors) || fail "$(cat errors)"
[ ! -s errors ] || fail "it wrote: $(cat errors)"
[[ $said =~ ^mean\ return\ (1\.000|0\.9[0-9]*)\ in ]] || fail "$said"

# 4. A mistake is a sentence.
status=0
error=$(./catch /nowhere 2>&1) || status=$?
[ "$status $error" = "2 catch: /nowhere is neither a run directory nor a checkpoint" ] ||
  fail "$status: $error"
