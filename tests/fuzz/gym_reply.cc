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

void CheckActions(const ActionSpace& actions) {
  CHECK(actions.width() >= 1 && actions.width() <= 65'536);
  CHECK(actions.values() <= 65'536);
  for (const std::int32_t count : actions.counts) CHECK(count >= 1);
  CHECK(actions.low.size() == actions.high.size());
  for (std::size_t k = 0; k < actions.low.size(); ++k) CHECK(actions.low[k] <= actions.high[k]);
  CHECK(!actions.box() || !actions.masked);
}

void CheckLimits(const FrameSpec& spec) {
  const EnvSpec& env = spec.env;
  for (const int side : {env.height, env.width, env.channels}) CHECK(side >= 1);
  CHECK(std::int64_t{env.height} * env.width * env.channels + env.actions.mask() <= std::int64_t{64}
                                                                                        << 20);
  CHECK(std::isfinite(env.low) && std::isfinite(env.high) && env.low <= env.high);
  CheckActions(env.actions);
  const int names = env.actions.one_choice() ? env.actions.values() : 0;
  CHECK(env.action_names.size() == static_cast<std::size_t>(names));
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
