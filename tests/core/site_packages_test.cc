#include "core/site_packages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace starling {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Pythons in a temporary directory.
class SitePackagesTest : public ::testing::Test {
 protected:
  fs::path Python(const std::string& name) {
    const fs::path root = dir_.path() / name;
    fs::create_directories(root / "bin");
    std::ofstream(root / "bin" / "python3");
    return root;
  }
  static fs::path Folder(const fs::path& path) {
    fs::create_directories(path);
    return path;
  }

  const TempDir dir_;
};

TEST_F(SitePackagesTest, AreThoseOfEveryRelease) {
  const fs::path root = Python("usr");
  const fs::path site = Folder(root / "lib" / "python3.11" / "site-packages"),
                 debian = Folder(root / "lib" / "python3" / "dist-packages"),
                 pip = Folder(root / "local" / "lib" / "python3.11" / "dist-packages");
  Folder(root / "lib" / "python2.7" / "site-packages");
  EXPECT_THAT(SitePackages(root), ElementsAre(debian, site, pip));
  EXPECT_THAT(SitePackages(dir_.path() / "nowhere"), IsEmpty());
}

TEST_F(SitePackagesTest, RootsAreOfTheEnvironmentThenOfThePathThenOfTheUser) {
  const fs::path usr = Python("usr"), local = Python("local"), empty = Folder(dir_.path() / "x");
  const std::string path =
      fmt::format("{0}/bin::{1}/bin:{2}:{1}/bin/", usr.string(), local.string(), empty.string());
  EXPECT_THAT(PythonRoots("/venv", path, "/home/me"),
              ElementsAre("/venv", usr, local, "/home/me/.local"));
  EXPECT_THAT(PythonRoots("", "", ""), IsEmpty());
}

TEST_F(SitePackagesTest, NvidiaHasAFolderForEachLibrary) {
  const fs::path root = Python("venv"), nvidia = root / "lib/python3.12/site-packages/nvidia";
  const fs::path cublas = Folder(nvidia / "cublas" / "lib"), all = Folder(nvidia / "cu13" / "lib");
  Folder(nvidia / "nccl" / "include");
  EXPECT_THAT(NvidiaFolders(root), ElementsAre(all, cublas));
  EXPECT_THAT(NvidiaFolders(Python("other")), IsEmpty());
}

}  // namespace
}  // namespace starling
