#!/usr/bin/env bash
# tests/api/seat_run_test.sh BUILD: runs of a net that Starling does not know, whose actors are a program
# in C outside of the tree (examples/seat): to the end, through kill -9, and what is refused.
set -euo pipefail

build=$1
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() { echo "seat_run_test: $*" >&2; exit 1; }
starling=$build/bin/starling
export STARLING_SLOT=7  # of a run around this one: it must not reach the actors

cp "$root/examples/seat/regression.toml" .
cc -std=c99 -Wall -Wextra -pedantic -Werror -I "$root/api" "$root/examples/seat/regression.c" -o regression \
  -L "$build/lib" -lstarling-seat -lstarling -lm -Wl,-rpath,"$build/lib"
./regression init

# The weights of the newest checkpoint, and what they should be.
fitted() {
  python3 -B - "$1"/checkpoints/*.safetensors <<'END'
import json, struct, sys
data = open(sys.argv[-1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
weights = []
for name in ("slope", "offset"):
    begin, end = header[name]["data_offsets"]
    weights += struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
if any(abs(a - b) > 0.05 for a, b in zip(weights, (3, -2, 1))):
    sys.exit(f"the line is {weights}")
END
}

# 1. From the first weights to a line, within the bound.
"$starling" train regression.toml >train.log 2>&1 || fail "$(cat train.log)"
grep -q "^training an external net in runs/regression: 2 actors" train.log || fail "$(cat train.log)"
! grep -qE "episode|starling eval|warn|error" train.log || fail "$(cat train.log)"
fitted runs/regression
summary() { python3 -B -c "import json, sys; s = json.load(open('$1/summary.json')); assert $2, s"; }
summary runs/regression "s['steps'] >= 400000 and s['staleness']['max'] <= 2"
summary runs/regression "s['gradients']['dropped'] == {} and s['actors'] == {'started': 2, 'restarted': 0}"

# 2. What needs a net that Starling can compute says so.
refused() {
  local status=0 said
  said=$("${@:2}" 2>&1 </dev/null) || status=$?
  [ "$status" = 2 ] && [[ $said == *"$1"* ]] || fail "${*:2}: $status: $said"
}
refused "holds an external net" "$starling" eval runs/regression
refused "holds an external net" "$starling" record runs/regression --out x.gif
refused "holds an external net" "$starling" export runs/regression --onnx x.onnx
refused "were computed by your own programs" "$starling" replay runs/regression
refused "cannot be simulated" "$starling" simulate regression.toml
refused "is empty, so no actor would join" "$starling" train regression.toml --set "actors.command=[]"
refused "there is no program nowhere" "$starling" train regression.toml --set 'actors.command=["nowhere"]'
refused "no.safetensors" "$starling" train regression.toml --set net.initial=no.safetensors
[ "$(ls runs)" = regression ] || fail "a run that was refused left $(ls runs)"

# 3. Resumed, and begun from another run's weights, without the first file.
rm model.safetensors
"$starling" train --resume runs/regression --set run.steps=500000 >resume.log 2>&1 || fail "$(cat resume.log)"
fitted runs/regression
summary runs/regression "s['steps'] >= 500000"

# 4. kill -9 of an actor, then of the learner: both are replaced, and the seats join again.
./regression init
"$starling" train regression.toml --run-dir killed --set run.steps=1000000000 --set staleness.bound=1 \
  --set optimizer.lr_schedule=constant >killed.log 2>&1 &
train=$!
trap 'kill -9 "$train" 2>/dev/null || true; wait "$train" 2>/dev/null || true; rm -rf "$scratch"' EXIT
await() {  # await N REGEX: N lines of its log
  for _ in $(seq 1200); do
    lines=$(grep -cE "$2" killed/log 2>/dev/null || true)
    [ "${lines:-0}" -ge "$1" ] && return
    kill -0 "$train" 2>/dev/null || fail "it ended: $(cat killed.log)"
    sleep 0.1
  done
  fail "no $2: $(cat killed/log)"
}
pid_of() { sed -n "s/.* $1 started, pid //p" killed/log | tail -n 1; }
await 2 "learner: actor . joined"
kill -9 "$(pid_of "actor 1")"
await 3 "learner: actor . joined"
kill -9 "$(pid_of learner)"
await 5 "learner: actor . joined"
await 2 "learner: wrote"
kill -INT "$train"
wait "$train" || [ $? = 130 ] || fail "$(cat killed.log)"
summary killed "s['staleness']['max'] <= 1 and s['learner']['restarted'] == 1"
summary killed "s['actors']['restarted'] == 1 and s['gradients']['dropped'].get('not_finite', 0) == 0"

# 5. An actor that always dies ends the run with its reason; one with a wrong call, too.
for words in '["sh", "-c", "echo no such model; exit 1"]' '["sh", "-c", "echo no such model; exit 2"]'; do
  status=0
  "$starling" train regression.toml --run-dir dies --set "actors.command=$words" >dies.log 2>&1 || status=$?
  [ "$status" != 0 ] && grep -q "no such model" dies.log || fail "$status: $(cat dies.log)"
  rm -rf dies
done

# 6. What a wrapper has left behind ends with it.
"$starling" train regression.toml --run-dir wrapped --set run.steps=20000 \
  --set 'actors.command=["sh", "-c", "sleep 86399 & echo $! >>sleeping; exec ./regression"]' >wrapped.log 2>&1 ||
  fail "$(cat wrapped.log)"
[ "$(wc -l <sleeping)" = 2 ] || fail "$(cat wrapped.log)"
while read -r pid; do
  ! grep -qs 86399 "/proc/$pid/cmdline" || fail "a process of a wrapper is left"
done <sleeping

# 7. Started elsewhere, over tcp: by hand, and by starling-actor, which becomes the program that it is
# given, or that the run directory names.
unset STARLING_SLOT
"$starling" train regression.toml --run-dir elsewhere --no-actors --set wire.endpoint=tcp://127.0.0.1:0 \
  --set wire.address=127.0.0.1 --set actors.count=1 --set run.steps=20000 >elsewhere.log 2>&1 &
train=$!
for _ in $(seq 1200); do [ -s elsewhere/endpoint ] && break; sleep 0.1; done
./regression elsewhere/endpoint || fail "it did not train elsewhere: $(cat elsewhere.log)"
wait "$train" || fail "$(cat elsewhere.log)"
summary elsewhere "s['steps'] >= 20000 and s['actors']['started'] == 1"

"$starling" keys new learner >/dev/null
"$starling" keys new ada >/dev/null
mkdir keys/allowed
cp keys/ada.public keys/allowed/
"$starling" train regression.toml --run-dir keyed --no-actors --set wire.endpoint=tcp://127.0.0.1:0 \
  --set wire.address=127.0.0.1 --set wire.secret=keys/learner.secret --set wire.allowed=keys/allowed \
  --set run.steps=100000 --set staleness.bound=1 >keyed.log 2>&1 &
train=$!
for _ in $(seq 1200); do [ -s keyed/endpoint ] && break; sleep 0.1; done
place=(--connect-file keyed/endpoint --secret keys/ada.secret --learner-key keys/learner.public)
actor=$build/bin/starling-actor
refused "which knows nothing of --backend, --envs" "$actor" "${place[@]}" --envs 3
refused "which knows nothing of --backend, --envs, --set and --stay" "$actor" "${place[@]}" --stay
refused "nowhere cannot be run" "$actor" "${place[@]}" -- nowhere
place[1]=$(cat keyed/endpoint)
refused "give its words to starling-actor after --" "$actor" --connect "${place[@]:1}" --slot 2
"$actor" --connect-file keyed/endpoint "${place[@]:2}" --slot 1 >actor1.log 2>&1 &
one=$!
"$actor" --connect "${place[@]:1}" -- ./regression >actor0.log 2>&1 || fail "$(cat actor0.log)"
wait "$one" || fail "$(cat actor1.log)"
wait "$train" || fail "$(cat keyed.log)"
grep -q "this actor is ./regression$" actor1.log || fail "$(cat actor1.log)"
summary keyed "s['steps'] >= 100000 and s['staleness']['max'] <= 1"
summary keyed "s['actors']['started'] >= 2 and s['actors']['restarted'] == 0"
