// The table with which a plug-in describes itself (envs/plugin.h). The input: the numbers in the
// order of the table, a byte whose bits are its functions and pointers, then the names, with zeros
// between them.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "envs/bridge/plugin_library.h"
#include "envs/bridge/protocol.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace starling;
using namespace starling::envs;

constexpr int kFewActions = 100;

void* Create() { return nullptr; }
void Destroy(void*) {}
std::int32_t Reset(void*, std::uint64_t) { return 0; }
std::int32_t Step(void*, std::int32_t, float*, std::int32_t*) { return 0; }
std::int32_t Observe(void*, float*) { return 0; }
std::int32_t Lives(void*) { return 0; }
const char* Error(void*) { return nullptr; }

// Names as a plug-in may have them: ended by a zero or, where that is wrong, longer than the parser
// looks.
class Names {
 public:
  explicit Names(std::string_view text) {
    for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
      end = text.find('\0');
      Add(text.substr(0, end));
      if (end == std::string_view::npos) break;
    }
  }
  const char* at(std::size_t i) const { return names_[i % names_.size()].get(); }

 private:
  void Add(std::string_view name) {
    const std::size_t terminated = name.size() < 64 ? 1 : 0;
    auto copy = std::make_unique<char[]>(name.size() + terminated);
    std::ranges::copy(name, copy.get());
    names_.push_back(std::move(copy));
  }
  std::vector<std::unique_ptr<char[]>> names_;
};

starling_env_v1 TableIn(fuzz::Input& input) {
  starling_env_v1 table{};
  table.abi_version = input.Take<std::uint32_t>();
  table.struct_size = input.Take<std::uint32_t>();
  table.height = input.Take<std::int32_t>();
  table.width = input.Take<std::int32_t>();
  table.channels = input.Take<std::int32_t>();
  table.low = input.Take<float>();
  table.high = input.Take<float>();
  table.num_actions = input.Take<std::int32_t>();
  const auto bits = input.Take<std::uint8_t>();
  table.create = (bits & 1) != 0 ? nullptr : Create;
  table.destroy = (bits & 2) != 0 ? nullptr : Destroy;
  table.reset = (bits & 4) != 0 ? nullptr : Reset;
  table.step = (bits & 8) != 0 ? nullptr : Step;
  table.observe = (bits & 16) != 0 ? nullptr : Observe;
  table.lives = (bits & 32) != 0 ? nullptr : Lives;
  table.error = (bits & 64) != 0 ? nullptr : Error;
  return table;
}

void CheckLimits(const PluginLibrary& library) {
  const EnvSpec& env = library.spec.env;
  CHECK(env.name == "plugin:fuzz.so");
  for (const int side : {env.height, env.width, env.channels}) CHECK(side >= 1);
  CHECK(std::int64_t{env.height} * env.width * env.channels <= std::int64_t{64} << 20);
  CHECK(std::isfinite(env.low) && std::isfinite(env.high) && env.low < env.high);
  CHECK(env.actions.one_choice());
  CHECK(env.actions.values() >= 1 && env.actions.values() <= 65'536);
  CHECK(env.action_names.size() == static_cast<std::size_t>(env.actions.values()));
  for (const std::string& name : env.action_names) CHECK(!name.empty() && name.size() < 64);
}

// The process that plays it alone gives its client the same answer.
void CheckIsolated(const FrameSpec& spec) {
  if (spec.env.actions.values() > kFewActions) return;
  std::string mistake;
  const auto heard = ReadWorkerSpec(WorkerSpecLine(spec), spec.env.name, mistake);
  CHECK(heard && SameSpec(*heard, spec));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  starling_env_v1 table = TableIn(input);
  // Numbers between few actions and the maximum take long and show nothing new.
  if (table.num_actions > kFewActions && table.num_actions < 65'500) return 0;
  const bool no_actions = (input.Take<std::uint8_t>() & 1) != 0;
  const Names names(input.rest());
  table.name = names.at(0);
  // One that is null stands for those that a plug-in forgot.
  const int count = std::clamp(table.num_actions, 0, 65'536);
  std::vector<const char*> actions(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < actions.size(); ++i) actions[i] = names.at(i + 1);
  if (no_actions && !actions.empty()) actions.back() = nullptr;
  table.action_names = actions.empty() ? nullptr : actions.data();
  try {
    const PluginLibrary library = CheckPluginTable("fuzz.so", &table);
    CheckLimits(library);
    CheckIsolated(library.spec);
  } catch (const UserError& refusal) {
    CHECK(std::string_view(refusal.what()).starts_with("plugin \"fuzz.so\""), "{}", refusal.what());
  }
  return 0;
}
