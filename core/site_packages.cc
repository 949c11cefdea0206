#include "core/site_packages.h"

#include <algorithm>
#include <sstream>
#include <system_error>

namespace starling {

namespace fs = std::filesystem;

std::vector<fs::path> SitePackages(const fs::path& root) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const auto& python : fs::directory_iterator(root / lib, ignored)) {
      if (!python.path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path folder = python.path() / packages;
        if (fs::is_directory(folder, ignored)) found.push_back(folder);
      }
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> PythonRoots(const std::string& virtual_env, const std::string& path,
                                  const std::string& home) {
  std::vector<fs::path> roots;
  const auto add = [&](const fs::path& root) {
    if (std::ranges::count(roots, root) == 0) roots.push_back(root);
  };
  if (!virtual_env.empty()) add(virtual_env);
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    if (folder.empty() || !fs::exists(fs::path(folder) / "python3", ignored)) continue;
    add((fs::path(folder) / "..").lexically_normal().parent_path());
  }
  if (!home.empty()) add(fs::path(home) / ".local");
  return roots;
}

std::vector<fs::path> NvidiaFolders(const fs::path& root) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::path& packages : SitePackages(root)) {
    for (const auto& part : fs::directory_iterator(packages / "nvidia", ignored)) {
      if (fs::is_directory(part.path() / "lib", ignored)) found.push_back(part.path() / "lib");
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace starling
