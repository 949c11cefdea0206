// Where Pythons keep their packages. Reads the file system and starts no Python, which takes a
// second.
//
// Thread safety: pure functions of the file system.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace starling {

// The folders of packages of the Python whose program is ROOT/bin/python3:
// ROOT/{lib,lib64,local/lib}/python3*/{site,dist}-packages; local is where Debian's pip installs.
std::vector<std::filesystem::path> SitePackages(const std::filesystem::path& root);

// The roots of the Pythons that a user calls: of `virtual_env` (VIRTUAL_ENV), of each folder in
// `path` (PATH) with a python3, and of packages for one user (`home`/.local); each once, in this
// order. Empty strings are left out.
std::vector<std::filesystem::path> PythonRoots(const std::string& virtual_env,
                                               const std::string& path, const std::string& home);

// The folders of NVIDIA's libraries among the packages of the Python at `root`: nvidia/*/lib.
std::vector<std::filesystem::path> NvidiaFolders(const std::filesystem::path& root);

}  // namespace starling
