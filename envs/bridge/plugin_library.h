// A user's shared library (envs/plugin.h), loaded and checked.
#pragma once

#include <string>

#include "envs/frames.h"
#include "envs/plugin.h"

namespace starling::envs {

// What stands before the path in env.name: "plugin:./mine.so".
inline constexpr char kPluginPrefix[] = "plugin:";

// What is behind a plug-in's name. The library stays loaded until the process ends: its code may
// have left something behind (thread-local objects, exit handlers) that must not lose its ground.
struct PluginLibrary {
  std::string called;       // `plugin "./mine.so"`, for sentences
  starling_env_v1 table{};  // a copy; members that the plug-in does not know are null
  FrameSpec spec;           // spec.env.name is kPluginPrefix and the path
};

// Loads the library at `path`, relative to the current directory. Throws UserError, one sentence:
// no such file, not a shared library, no starling_env(), and as CheckPluginTable.
PluginLibrary LoadPlugin(const std::string& path);

// Whether `table`, which starling_env() returned, keeps to envs/plugin.h; the copy and the spec.
// Throws UserError that names the member: another abi_version, a table that is too short, missing
// functions, sizes, bounds or actions out of their ranges, missing or endless names.
PluginLibrary CheckPluginTable(const std::string& path, const starling_env_v1* table);

}  // namespace starling::envs
