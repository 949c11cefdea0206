#!/usr/bin/env bash
# tests/level_test.sh NM OBJECT...: looks for code of one level (net/cpu/levels.h) that other code of a
# program could call: names of an object that are not local, and groups of which a linker takes one
# for the whole program.
set -euo pipefail

nm=$1; shift
for object in "$@"; do
  names=$("$nm" --demangle --defined-only --extern-only --format=just-symbols "$object")
  if [[ $(grep -c . <<<"$names") != 1 || $names != *"::MakeBackend("* ]]; then
    printf '%s: these names are not local:\n%s\n' "$object" "$names" >&2
    exit 1
  fi
  if readelf --section-groups "$object" | grep -q 'COMDAT'; then
    echo "$object: it has groups" >&2
    exit 1
  fi
  echo "$(basename "$object"): $names"
done
