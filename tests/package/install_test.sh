#!/usr/bin/env bash
# tests/package/install_test.sh BUILD: what `cmake --install BUILD` leaves serves projects outside of
# this tree, in C and in C++, through find_package and pkg-config, also after it was moved.
set -euo pipefail

build=$1
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() { echo "install_test: $*" >&2; exit 1; }
quietly() { "$@" >log 2>&1 || fail "$* failed: $(cat log)"; }

# 1. Install, and move.
quietly cmake --install "$build" --prefix "$scratch/first" --strip
mv first prefix
prefix=$scratch/prefix
! grep -rIl -e "$root" -e "$scratch" prefix || fail "these files name a place of this machine"

# 2. A project with both targets: a program in C, and a plug-in in C++.
mkdir project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C CXX)
find_package(Starling 0.1 REQUIRED)
add_executable(catch catch.c)
target_link_libraries(catch PRIVATE Starling::starling)
add_executable(regression regression.c)
target_link_libraries(regression PRIVATE Starling::seat m)
add_library(guess MODULE guess.cc)
target_link_libraries(guess PRIVATE Starling::plugin)
set_target_properties(guess PROPERTIES PREFIX "")
END
cp "$root/examples/policy/catch.c" "$root/examples/seat/regression.c" project/
cat >project/guess.cc <<'END'
#include "plugin.hpp"
using namespace starling::plugin;
struct Guess {
  static constexpr const char *kName = "guess", *kActions[] = {"heads", "tails"};
  static constexpr int kHeight = 1, kWidth = 1, kChannels = 1;
  int side = 0;
  void Reset(Random& random) { side = random.Below(2); }
  Outcome Step(int action, Random&) { return {action == side ? 1.0f : 0.0f, End::kTerminated}; }
  void Observe(float* values) const { values[0] = static_cast<float>(side); }
};
STARLING_ENV(Guess);
END
quietly cmake -S project -B out -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build out

# 3. The installed program trains on the plug-in, and the program in C plays what it has learnt.
quietly prefix/bin/starling train "$prefix/share/starling/configs/catch.toml" --run-dir guessed \
  --set "env.name=plugin:$scratch/out/guess.so" --set run.steps=4000 --set actors.count=1
quietly prefix/bin/starling train "$prefix/share/starling/configs/catch.toml" --run-dir run \
  --set run.steps=4000 --set actors.count=1
quietly out/catch run
grep -q "^mean return" log || fail "$(cat log)"
out/regression init
quietly prefix/bin/starling train "$root/examples/seat/regression.toml" --set run.steps=20000 \
  --set 'actors.command=["out/regression"]'

# 4. The same through pkg-config.
command -v pkg-config >/dev/null || exit 0
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name starling.pc)")
read -ra flags < <(pkg-config --cflags --libs starling)
quietly cc project/catch.c -o catch "${flags[@]}" -Wl,-rpath,"$(pkg-config --variable=libdir starling)"
quietly ./catch run
read -ra flags < <(pkg-config --cflags starling-plugin)
quietly c++ -std=c++17 -shared -fPIC "${flags[@]}" project/guess.cc -o guess.so
