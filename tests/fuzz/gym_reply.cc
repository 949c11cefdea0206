// A line of JSON that answers a request to a worker, such as the bridge to Gymnasium
// (envs/bridge/protocol.h).
#include <cmath>
#include <string>

#include "core/check.h"
#include "envs/bridge/protocol.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace starling;
using namespace starling::envs;

void CheckLimits(const FrameSpec& spec) {
  const EnvSpec& env = spec.env;
  for (const int side : {env.height, env.width, env.channels}) CHECK(side >= 1);
  CHECK(std::int64_t{env.height} * env.width * env.channels <= std::int64_t{64} << 20);
  CHECK(std::isfinite(env.low) && std::isfinite(env.high) && env.low <= env.high);
  CHECK(env.num_actions >= 1 && env.num_actions <= 65'536);
  CHECK(env.action_names.size() == static_cast<std::size_t>(env.num_actions));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kWorkerLineLimit) return 0;  // the client does not listen for so long
  const std::string_view line = fuzz::AsText(data, size);
  std::string mistake, none;
  const auto spec = ReadWorkerSpec(line, "gym:Fuzz-v0", mistake);
  CHECK(!spec || mistake.empty());
  CHECK(OneLine(mistake, 1000).size() <= 1003);
  SaysReady(line);
  if (!spec) return 0;
  CheckLimits(*spec);
  const auto again = ReadWorkerSpec(WorkerSpecLine(*spec), "gym:Fuzz-v0", none);
  CHECK(again && SameSpec(*again, *spec));
  return 0;
}
