// The table with which a plug-in describes itself (envs/plugin.h). The input: the numbers in the
// order of version 1, a byte whose bits are its functions, and one whose bits are its pointers; if
// the version is 2, the numbers that this has more; then the names, with zeros between them.
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
std::int32_t StepSecond(void*, const starling_action*, float*, std::int32_t*) { return 0; }
std::int32_t Mask(void*, std::uint8_t*) { return 0; }
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

// The arrays of a table of version 2.
struct Arrays {
  std::vector<starling_entry> entries;
  std::vector<std::int32_t> counts;
  std::vector<float> low, high;
  std::vector<const char*> names;
};

// A table with the numbers and functions of `first`; the input has its other numbers. A bit of
// `pointers` makes an array null.
starling_env_v2 SecondIn(fuzz::Input& input, const starling_env_v1& first, std::uint8_t pointers,
                         Arrays& arrays) {
  starling_env_v2 table{};
  table.abi_version = first.abi_version;
  table.struct_size = first.struct_size;
  table.create = first.create;
  table.destroy = first.destroy;
  table.reset = first.reset;
  table.step = first.step != nullptr ? StepSecond : nullptr;
  table.observe = first.observe;
  table.lives = first.lives;
  table.error = first.error;
  // 1. The entries: the first is that of version 1, the others differ in one side.
  table.num_entries = input.Take<std::int32_t>();
  for (int k = 0; k < std::clamp(table.num_entries, 1, kMaxEntries); ++k) {
    const std::int32_t channels = k == 0 ? first.channels : input.Take<std::int16_t>();
    arrays.entries.push_back({nullptr, first.height, first.width, channels, first.low, first.high});
  }
  table.entries = (pointers & 2) != 0 ? nullptr : arrays.entries.data();
  // 2. The actions.
  table.action_kind = input.Take<std::uint8_t>() % 3;
  table.num_actions = first.num_actions;
  for (int k = 0; k < std::clamp(first.num_actions, 0, kMaxWorkerActions); ++k) {
    arrays.counts.push_back(input.Take<std::int32_t>());
    arrays.low.push_back(input.Take<float>());
    arrays.high.push_back(input.Take<float>());
  }
  table.counts = (pointers & 4) != 0 ? nullptr : arrays.counts.data();
  table.action_low = (pointers & 8) != 0 ? nullptr : arrays.low.data();
  table.action_high = (pointers & 16) != 0 ? nullptr : arrays.high.data();
  table.mask = (pointers & 32) != 0 ? nullptr : Mask;
  return table;
}

void CheckLimits(const PluginLibrary& library) {
  const EnvSpec& env = library.spec.env;
  CHECK(env.name == "plugin:fuzz.so");
  for (const int side : {env.height, env.width, env.channels}) CHECK(side >= 1);
  CHECK(std::int64_t{env.height} * env.width * env.channels + env.actions.mask() <= 64 << 20);
  CHECK(std::isfinite(env.low) && std::isfinite(env.high) && env.low < env.high);
  CHECK(env.entries.size() != 1 && env.entries.size() <= kMaxEntries);
  int together = 0;
  for (const ObservationEntry& entry : env.entries) together += entry.size();
  CHECK(env.entries.empty() || together == env.obs_size());
  CHECK(env.actions.width() >= 1 && env.actions.width() <= kMaxWorkerActions);
  CHECK(env.actions.box() || env.actions.values() <= kMaxWorkerActions);
  const int named = env.actions.one_choice() ? env.actions.values() : 0;
  CHECK(env.action_names.size() == static_cast<std::size_t>(named));
  for (const std::string& name : env.action_names) CHECK(!name.empty() && name.size() < 64);
}

// The process that plays it alone gives its client the same answer.
void CheckIsolated(const FrameSpec& spec) {
  if (spec.env.actions.width() > kFewActions || spec.env.action_names.size() > kFewActions) return;
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
  const auto pointers = input.Take<std::uint8_t>();
  Arrays arrays;
  // Not taken of a table of version 1, whose names follow.
  starling_env_v2 second{};
  if (table.abi_version == 2) second = SecondIn(input, table, pointers, arrays);
  const Names names(input.rest());
  table.name = second.name = names.at(0);
  for (std::size_t k = 0; k < arrays.entries.size(); ++k) {
    arrays.entries[k].name = (pointers & 64) != 0 ? nullptr : names.at(k + 1);
  }
  // A name that is null stands for those that a plug-in forgot. In version 2, all may be null;
  // there are as many as the values of the only choice.
  const bool is_second = table.abi_version == 2;
  const int values = is_second && !arrays.counts.empty() ? arrays.counts[0] : table.num_actions;
  const int count = std::clamp(values, 0, kMaxWorkerActions);
  arrays.names.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < arrays.names.size(); ++i) arrays.names[i] = names.at(i + 1);
  if ((pointers & 1) != 0 && !arrays.names.empty()) arrays.names.back() = nullptr;
  table.action_names = arrays.names.empty() ? nullptr : arrays.names.data();
  second.action_names = (pointers & 128) != 0 ? nullptr : table.action_names;
  try {
    const void* shown = is_second ? static_cast<const void*>(&second) : &table;
    const PluginLibrary library = CheckPluginTable("fuzz.so", shown);
    CheckLimits(library);
    CheckIsolated(library.spec);
  } catch (const UserError& refusal) {
    CHECK(std::string_view(refusal.what()).starts_with("plugin \"fuzz.so\""), "{}", refusal.what());
  }
  return 0;
}
