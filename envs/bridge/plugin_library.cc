#include "envs/bridge/plugin_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/text.h"

namespace starling::envs {
namespace {

// Bytes of the first version's table.
constexpr std::size_t kOldestTable = offsetof(starling_env_v1, error) + sizeof(void*);
constexpr std::size_t kMaxName = 63;  // bytes
constexpr std::int64_t kMaxValues = std::int64_t{64} << 20;
constexpr int kMaxPluginActions = 65536;

// The same in every version.
static_assert(offsetof(starling_env_v1, struct_size) == 4);
static_assert(offsetof(starling_env_v1, name) == 8);

std::string Called(const std::string& path) { return fmt::format("plugin \"{}\"", path); }

// Throws errors about one plug-in.
class Refusal {
 public:
  explicit Refusal(std::string called) : called_(std::move(called)) {}

  template <class... Args>
  [[noreturn]] void operator()(fmt::format_string<Args...> text, Args&&... args) const {
    throw UserError(called_ + ": " + fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  std::string called_;
};

// Whether `text` is a name as envs/plugin.h demands.
bool IsName(const char* text) {
  if (text == nullptr) return false;
  const std::size_t size = ::strnlen(text, kMaxName + 1);
  return size >= 1 && size <= kMaxName &&
         std::all_of(text, text + size,
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; }) &&
         IsUtf8({text, size});
}

void CheckVersion(const Refusal& refuse, const starling_env_v1& table) {
  if (table.abi_version != STARLING_ENV_ABI) {
    refuse(
        "it has abi_version {}, this Starling speaks {}: build it with this Starling's "
        "envs/plugin.h",
        table.abi_version, STARLING_ENV_ABI);
  }
  if (table.struct_size < kOldestTable) {
    refuse(
        "its struct_size is {} bytes, at least {} are needed: set it to sizeof(starling_env_v1) "
        "and build it with this Starling's envs/plugin.h",
        table.struct_size, kOldestTable);
  }
}

void CheckFunctions(const Refusal& refuse, const starling_env_v1& table) {
  const auto check = [&](bool there, const char* name) {
    if (!there)
      refuse("its function \"{}\" is null: only lives, error, save and restore may be", name);
  };
  check(table.create != nullptr, "create");
  check(table.destroy != nullptr, "destroy");
  check(table.reset != nullptr, "reset");
  check(table.step != nullptr, "step");
  check(table.observe != nullptr, "observe");
}

void CheckObservation(const Refusal& refuse, const starling_env_v1& table) {
  // Limited at each step, because the product of three int32 may need 96 bits.
  std::int64_t values = 1;
  for (const std::int32_t side : {table.height, table.width, table.channels}) {
    values = side >= 1 && values <= kMaxValues ? values * side : kMaxValues + 1;
  }
  if (values > kMaxValues) {
    refuse(
        "height, width and channels are {}, {} and {}: each must be at least 1 and their product "
        "at most {}",
        table.height, table.width, table.channels, kMaxValues);
  }
  if (!std::isfinite(table.low) || !std::isfinite(table.high) || table.low >= table.high) {
    refuse("low and high are {} and {}: both must be finite and low below high", table.low,
           table.high);
  }
}

void CheckNames(const Refusal& refuse, const starling_env_v1& table) {
  // Names are only bounded by their limits: a plug-in's pointer may have no terminator.
  if (!IsName(table.name)) {
    refuse("its name must be a text of 1 to {} bytes of UTF-8 without control characters",
           kMaxName);
  }
  if (table.num_actions < 1 || table.num_actions > kMaxPluginActions) {
    refuse("num_actions is {}: it must be from 1 to {}", table.num_actions, kMaxPluginActions);
  }
  if (table.action_names == nullptr) {
    refuse("action_names is null: it must hold the names of its {} actions", table.num_actions);
  }
  for (std::int32_t i = 0; i < table.num_actions; ++i) {
    if (!IsName(table.action_names[i])) {
      refuse(
          "the name of action {} must be a text of 1 to {} bytes of UTF-8 without control "
          "characters",
          i, kMaxName);
    }
  }
}

FrameSpec SpecOfTable(const std::string& path, const starling_env_v1& table) {
  return {.env = {.name = kPluginPrefix + path,
                  .height = table.height,
                  .width = table.width,
                  .channels = table.channels,
                  .actions = ActionSpace::Choice(table.num_actions),
                  .action_names = {table.action_names, table.action_names + table.num_actions},
                  .low = table.low,
                  .high = table.high},
          .lives = table.lives != nullptr,
          .saves = table.save != nullptr};
}

// Opens the file itself: dlopen(3) of an absolute path never searches library paths.
void* Open(const Refusal& refuse, const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(path, error);
  const auto status = std::filesystem::status(file, error);
  if (path.empty() || !std::filesystem::exists(status)) {
    refuse("there is no file {}: name one, relative to the current directory or absolute",
           path.empty() ? "behind \"plugin:\"" : file.lexically_normal().string());
  }
  if (!std::filesystem::is_regular_file(status)) {
    refuse("{} is not a file: name a shared library", file.lexically_normal().string());
  }
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    refuse("it cannot be loaded as a shared library ({}): build it with -shared -fPIC",
           reason != nullptr ? reason : "no reason given");
  }
  return handle;
}

// The call of this thread, for the exit handler; null outside of one.
thread_local const char *called_now = nullptr, *function_now = nullptr;

void OnExit() {
  if (called_now == nullptr) return;
  std::fflush(nullptr);
  std::fprintf(stderr, "%s: its %s called exit: a plug-in must return instead\n", called_now,
               function_now);
  std::_Exit(kExitUserError);
}

}  // namespace

PluginCall::PluginCall(const std::string& called, const char* function) {
  [[maybe_unused]] static const int registered = std::atexit(OnExit);
  called_now = called.c_str();
  function_now = function;
}

PluginCall::~PluginCall() { called_now = nullptr; }

PluginLibrary CheckPluginTable(const std::string& path, const starling_env_v1* table) {
  const Refusal refuse(Called(path));
  if (table == nullptr) refuse("its starling_env() returned null: it must return its table");
  CheckVersion(refuse, *table);
  CheckFunctions(refuse, *table);
  CheckObservation(refuse, *table);
  CheckNames(refuse, *table);
  // The members that the plug-in knows.
  starling_env_v1 copy{};
  std::memcpy(&copy, table, std::min<std::size_t>(table->struct_size, sizeof copy));
  if ((copy.save == nullptr) != (copy.restore == nullptr)) {
    refuse("it has only one of the functions save and restore: define both, or neither");
  }
  return {.called = Called(path), .table = copy, .spec = SpecOfTable(path, copy)};
}

PluginLibrary LoadPlugin(const std::string& path) {
  const Refusal refuse(Called(path));
  // 1. Load the library and find its function.
  void* const handle = Open(refuse, path);
  using Entry = const starling_env_v1* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "starling_env"));
  if (entry == nullptr) {
    refuse(
        "it exports no function starling_env(): end it with STARLING_ENV (envs/plugin.hpp), or "
        "define the function (envs/plugin.h; in C++ as extern \"C\")");
  }
  // 2. Call it.
  const starling_env_v1* table = nullptr;
  const std::string called = Called(path);
  try {
    const PluginCall call(called, "starling_env()");
    table = entry();
  } catch (const std::exception& error) {
    refuse("its starling_env() threw an exception ({}): it must return its table", error.what());
  } catch (...) {
    refuse("its starling_env() threw an exception: it must return its table");
  }
  return CheckPluginTable(path, table);
}

}  // namespace starling::envs
