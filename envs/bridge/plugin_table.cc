// The check of the table with which a plug-in describes itself (CheckPluginTable).
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/text.h"
#include "envs/bridge/plugin_library.h"
#include "envs/bridge/protocol.h"

namespace starling::envs {
namespace {

// Bytes of the oldest table of each version.
constexpr std::size_t kOldestFirst = offsetof(starling_env_v1, error) + sizeof(void*);
constexpr std::size_t kOldestSecond = offsetof(starling_env_v2, restore) + sizeof(void*);
constexpr std::size_t kMaxName = 63;  // bytes
static_assert(kMaxName == kMaxEntryName);

// The same in every version.
struct TableHead {
  std::uint32_t abi_version, struct_size;
};
static_assert(offsetof(starling_env_v1, struct_size) == 4);
static_assert(offsetof(starling_env_v2, struct_size) == 4);

// Whether `text` is a name as envs/plugin.h demands.
bool IsName(const char* text) {
  if (text == nullptr) return false;
  const std::size_t size = ::strnlen(text, kMaxName + 1);
  return size >= 1 && size <= kMaxName &&
         std::all_of(text, text + size,
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; }) &&
         IsUtf8({text, size});
}

// A table of either version, as one of the second. The arrays of a table of the first are here.
struct Described {
  starling_env_v2 table{};
  PluginLibrary::FirstStep first_step = nullptr;
  starling_entry entry{};
  std::int32_t count = 0;
};

// The members that the plug-in knows; null for the others.
template <class Table>
Table CopyOf(const PluginRefusal& refuse, const void* table, const TableHead& head,
             std::size_t oldest) {
  if (head.struct_size < oldest) {
    refuse(
        "its struct_size is {} bytes, at least {} are needed: set it to sizeof(starling_env_v{}) "
        "and build it with this Starling's envs/plugin.h",
        head.struct_size, oldest, head.abi_version);
  }
  Table copy{};
  std::memcpy(&copy, table, std::min<std::size_t>(head.struct_size, sizeof copy));
  return copy;
}

void DescribeFirst(const PluginRefusal& refuse, const starling_env_v1& first,
                   Described& described) {
  // 1. What is required of this version only.
  if (first.num_actions < 1 || first.num_actions > kMaxWorkerActions) {
    refuse("num_actions is {}: it must be from 1 to {}", first.num_actions, kMaxWorkerActions);
  }
  if (first.action_names == nullptr) {
    refuse("action_names is null: it must hold the names of its {} actions", first.num_actions);
  }
  // 2. One array, one choice, and the functions.
  described.entry = {.name = nullptr,
                     .height = first.height,
                     .width = first.width,
                     .channels = first.channels,
                     .low = first.low,
                     .high = first.high};
  described.count = first.num_actions;
  described.first_step = first.step;
  described.table = {.abi_version = first.abi_version,
                     .struct_size = first.struct_size,
                     .name = first.name,
                     .num_entries = 1,
                     .entries = &described.entry,
                     .action_kind = STARLING_CHOICES,
                     .num_actions = 1,
                     .counts = &described.count,
                     .action_names = first.action_names,
                     .action_low = nullptr,
                     .action_high = nullptr,
                     .create = first.create,
                     .destroy = first.destroy,
                     .reset = first.reset,
                     .step = nullptr,
                     .observe = first.observe,
                     .mask = nullptr,
                     .lives = first.lives,
                     .error = first.error,
                     .save = first.save,
                     .restore = first.restore};
}

void DescribeTable(const PluginRefusal& refuse, const void* table, Described& described) {
  TableHead head{};
  std::memcpy(&head, table, sizeof head);
  if (head.abi_version == 1) {
    const auto first = CopyOf<starling_env_v1>(refuse, table, head, kOldestFirst);
    DescribeFirst(refuse, first, described);
  } else if (head.abi_version == 2) {
    described.table = CopyOf<starling_env_v2>(refuse, table, head, kOldestSecond);
  } else {
    refuse(
        "it has abi_version {}, this Starling speaks 1 and 2: build it with this Starling's "
        "envs/plugin.h",
        head.abi_version);
  }
}

void CheckFunctions(const PluginRefusal& refuse, const Described& described) {
  const starling_env_v2& table = described.table;
  const auto check = [&](bool there, const char* name) {
    if (!there) {
      refuse("its function \"{}\" is null: only lives, error, mask, save and restore may be", name);
    }
  };
  check(table.create != nullptr, "create");
  check(table.destroy != nullptr, "destroy");
  check(table.reset != nullptr, "reset");
  check(table.step != nullptr || described.first_step != nullptr, "step");
  check(table.observe != nullptr, "observe");
  if ((table.save == nullptr) != (table.restore == nullptr)) {
    refuse("it has only one of the functions save and restore: define both, or neither");
  }
}

// Names are only bounded by their limits: a plug-in's pointer may have no terminator.
void CheckName(const PluginRefusal& refuse, const char* name, const std::string& whose) {
  if (IsName(name)) return;
  refuse("{} must be a text of 1 to {} bytes of UTF-8 without control characters", whose, kMaxName);
}

// Returns the number of its values.
std::int64_t CheckEntry(const PluginRefusal& refuse, const starling_entry& entry,
                        const std::string& of) {
  // Limited at each step, because the product of three int32 may need 96 bits.
  std::int64_t values = 1;
  for (const std::int32_t side : {entry.height, entry.width, entry.channels}) {
    values = side >= 1 && values <= kMaxRowNumbers ? values * side : kMaxRowNumbers + 1;
  }
  if (values > kMaxRowNumbers) {
    refuse(
        "height, width and channels{} are {}, {} and {}: each must be at least 1 and their product "
        "at most {}",
        of, entry.height, entry.width, entry.channels, kMaxRowNumbers);
  }
  if (!std::isfinite(entry.low) || !std::isfinite(entry.high) || entry.low >= entry.high) {
    refuse("low and high{} are {} and {}: both must be finite and low below high", of, entry.low,
           entry.high);
  }
  return values;
}

// Returns the number of values of all entries.
std::int64_t CheckEntries(const PluginRefusal& refuse, const starling_env_v2& table) {
  if (table.num_entries < 1 || table.num_entries > kMaxEntries) {
    refuse("num_entries is {}: it must be from 1 to {}", table.num_entries, kMaxEntries);
  }
  if (table.entries == nullptr) {
    refuse("entries is null: it must hold its {} entries", table.num_entries);
  }
  std::int64_t values = 0;
  std::set<std::string> names;
  for (std::int32_t k = 0; k < table.num_entries; ++k) {
    const starling_entry& entry = table.entries[k];
    if (table.num_entries > 1 || entry.name != nullptr) {
      CheckName(refuse, entry.name, fmt::format("the name of entry {}", k));
      if (!names.insert(entry.name).second) {
        refuse("two entries are called \"{}\": give each a name of its own", entry.name);
      }
    }
    const bool one = table.num_entries == 1;
    values += CheckEntry(refuse, entry, one ? "" : fmt::format(" of \"{}\"", entry.name));
  }
  return values;
}

// Returns the number of values of all choices.
std::int32_t CheckChoices(const PluginRefusal& refuse, const starling_env_v2& table) {
  // 1. How many values each has.
  if (table.counts == nullptr) {
    refuse("counts is null: it must hold the number of values of its {} choices",
           table.num_actions);
  }
  std::int32_t values = 0;
  for (std::int32_t k = 0; k < table.num_actions; ++k) {
    if (table.counts[k] < 1 || table.counts[k] > kMaxWorkerActions - values) {
      refuse("counts[{}] is {}: each must be at least 1, and all together at most {}", k,
             table.counts[k], kMaxWorkerActions);
    }
    values += table.counts[k];
  }
  // 2. Their names.
  if (table.action_names == nullptr) return values;
  if (table.num_actions > 1) {
    refuse("action_names is set, but an action is {} choices: it must be null unless it is one",
           table.num_actions);
  }
  for (std::int32_t i = 0; i < values; ++i) {
    CheckName(refuse, table.action_names[i], fmt::format("the name of action {}", i));
  }
  return values;
}

void CheckBox(const PluginRefusal& refuse, const starling_env_v2& table) {
  if (table.action_low == nullptr || table.action_high == nullptr) {
    refuse("action_low or action_high is null: both must hold the bounds of its {} coordinates",
           table.num_actions);
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::int32_t k = 0; k < table.num_actions; ++k) {
    const float low = table.action_low[k], high = table.action_high[k];
    if (!(low <= high) || low == kInfinity || high == -kInfinity) {
      refuse(
          "action_low and action_high of coordinate {} are {} and {}: low must be at most high, "
          "with a finite number between them",
          k, low, high);
    }
  }
}

// Returns the number of values of all choices; 0 for a box.
std::int32_t CheckActions(const PluginRefusal& refuse, const starling_env_v2& table) {
  // 1. Their kind and number.
  const bool box = table.action_kind == STARLING_BOX;
  if (!box && table.action_kind != STARLING_CHOICES) {
    refuse("its action_kind is {}, neither STARLING_CHOICES nor STARLING_BOX", table.action_kind);
  }
  if (table.num_actions < 1 || table.num_actions > kMaxWorkerActions) {
    refuse("num_actions is {}: it must be from 1 to {}", table.num_actions, kMaxWorkerActions);
  }
  // 2. Members that the kind has no use for.
  const auto unused = [&](bool set, const char* name) {
    if (!set) return;
    refuse("{} is set, which {} has no use for: it must be null", name,
           box ? "STARLING_BOX" : "STARLING_CHOICES");
  };
  unused(box && table.counts != nullptr, "counts");
  unused(box && table.action_names != nullptr, "action_names");
  unused(box && table.mask != nullptr, "mask");
  unused(!box && table.action_low != nullptr, "action_low");
  unused(!box && table.action_high != nullptr, "action_high");
  // 3. The others.
  if (!box) return CheckChoices(refuse, table);
  CheckBox(refuse, table);
  return 0;
}

ActionSpace SpaceOf(const starling_env_v2& table) {
  const auto all = [&](const auto* list) { return std::vector(list, list + table.num_actions); };
  if (table.action_kind == STARLING_BOX) {
    return ActionSpace::Box(all(table.action_low), all(table.action_high));
  }
  ActionSpace space = ActionSpace::Choices(all(table.counts));
  space.masked = table.mask != nullptr;
  return space;
}

std::vector<std::string> NamesOf(const starling_env_v2& table, const ActionSpace& space) {
  std::vector<std::string> names;
  for (int i = 0; space.one_choice() && i < space.values(); ++i) {
    names.push_back(table.action_names != nullptr ? table.action_names[i] : std::to_string(i));
  }
  return names;
}

std::vector<ObservationEntry> EntriesOfTable(const starling_env_v2& table) {
  std::vector<ObservationEntry> entries;
  for (const starling_entry& entry : std::span(table.entries, table.num_entries)) {
    const char* const name = entry.name != nullptr ? entry.name : "";
    entries.push_back({name, entry.height, entry.width, entry.channels, entry.low, entry.high});
  }
  return entries;
}

FrameSpec SpecOfTable(const std::string& path, const starling_env_v2& table,
                      const std::vector<ObservationEntry>& entries) {
  const ActionSpace space = SpaceOf(table);
  const ObservationEntry& one = entries[0];
  EnvSpec spec{.name = kPluginPrefix + path,
               .height = one.height,
               .width = one.width,
               .channels = one.channels,
               .actions = space,
               .action_names = NamesOf(table, space),
               .low = one.low,
               .high = one.high};
  if (entries.size() > 1) {
    spec.entries = entries;
    spec.height = spec.width = 1;
    spec.channels = 0;
    for (const ObservationEntry& entry : entries) {
      spec.channels += entry.size();
      spec.low = std::min(spec.low, entry.low);
      spec.high = std::max(spec.high, entry.high);
    }
  }
  return {.env = std::move(spec), .lives = table.lives != nullptr, .saves = table.save != nullptr};
}

}  // namespace

PluginLibrary CheckPluginTable(const std::string& path, const void* table) {
  // 1. Check it.
  const PluginRefusal refuse(CalledPlugin(path));
  if (table == nullptr) refuse("its starling_env() returned null: it must return its table");
  Described described;
  DescribeTable(refuse, table, described);
  starling_env_v2& copy = described.table;
  CheckFunctions(refuse, described);
  CheckName(refuse, copy.name, "its name");
  const std::int64_t values = CheckEntries(refuse, copy), choices = CheckActions(refuse, copy);
  const std::int64_t mask = copy.mask != nullptr ? choices : 0;
  if (values + mask > kMaxRowNumbers) {
    refuse("its entries are {} values and its mask {}: together at most {}", values, mask,
           kMaxRowNumbers);
  }
  // 2. Copy its arrays. Keep its functions.
  const std::vector<ObservationEntry> entries = EntriesOfTable(copy);
  PluginLibrary library{.called = CalledPlugin(path),
                        .first_step = described.first_step,
                        .entries = entries,
                        .spec = SpecOfTable(path, copy, entries)};
  copy.entries = nullptr;
  copy.counts = nullptr;
  copy.action_names = nullptr;
  copy.action_low = copy.action_high = nullptr;
  library.table = copy;
  return library;
}

}  // namespace starling::envs
