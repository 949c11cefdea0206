// A user's shared library (envs/plugin.h), loaded and checked.
#pragma once

#include <string>

#include "envs/frames.h"
#include "envs/plugin.h"

namespace starling::envs {

// The prefix of a plug-in's path in env.name: "plugin:./mine.so".
inline constexpr char kPluginPrefix[] = "plugin:";

// A loaded plug-in. The library stays loaded until the process ends, because thread-local objects
// and exit handlers may still need its code.
struct PluginLibrary {
  std::string called;       // `plugin "./mine.so"`, for sentences
  starling_env_v1 table{};  // a copy; members that the plug-in does not know are null
  FrameSpec spec;           // spec.env.name is kPluginPrefix and the path
};

// Loads the library at `path`, relative to the current directory. Throws UserError (no such file,
// not a shared library, no starling_env()), and as CheckPluginTable.
PluginLibrary LoadPlugin(const std::string& path);

// Checks `table`, the result of starling_env(), against envs/plugin.h. Throws UserError with the
// member's name: another abi_version, a table that is too short, missing functions, sizes, bounds
// or actions out of their ranges, missing or unterminated names.
PluginLibrary CheckPluginTable(const std::string& path, const starling_env_v1* table);

}  // namespace starling::envs
