#include "envs/bridge/plugin_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>

#include "core/error.h"

namespace starling::envs {
namespace {

// Opens the file itself: dlopen(3) of an absolute path never searches library paths.
void* Open(const PluginRefusal& refuse, const std::string& path) {
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

PluginLibrary LoadPlugin(const std::string& path) {
  const PluginRefusal refuse(CalledPlugin(path));
  // 1. Load the library and find its function.
  void* const handle = Open(refuse, path);
  using Entry = const void* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "starling_env"));
  if (entry == nullptr) {
    refuse(
        "it exports no function starling_env(): end it with STARLING_ENV (envs/plugin.hpp), or "
        "define the function (envs/plugin.h; in C++ as extern \"C\")");
  }
  // 2. Call it.
  const void* table = nullptr;
  const std::string called = CalledPlugin(path);
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
