// GRID.toml as it stands in the file, before anything of it is tried out: which keys get which
// values, and where each of them was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace starling::fleet {

// Where something stands: "grid.toml:9:12".
struct Spot {
  std::string text;
  std::uint32_t line = 0, column = 0;
};

struct GridValue {
  std::string toml;  // as an override takes it: 4, "unbounded", [64, 64]
  Spot spot;
};

struct GridKey {
  std::string name;  // "staleness.bound"
  Spot spot;
  std::vector<GridValue> values;
};

struct GridFile {
  std::filesystem::path file;
  std::filesystem::path config;  // "": none was given
  Spot config_spot;
  std::filesystem::path dir;
  int at_once = 1;
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  std::int64_t eval_episodes = 100;
  std::vector<GridKey> set;   // one value each
  std::vector<GridKey> grid;  // in the order of the file
};

// What is wrong, each sentence once.
class Mistakes {
 public:
  void Add(const Spot& spot, const std::string& sentence);
  // One line each, in the order of the file; what stands elsewhere comes last. "" if there are none.
  std::string Text() const;

 private:
  std::vector<std::pair<Spot, std::string>> found_;
  std::set<std::string> lines_;
};

// Reads `path`; whether the values suit their keys is not looked at. Throws UserError if the file
// cannot be read or is no TOML.
GridFile ReadGridFile(const std::filesystem::path& path, Mistakes& mistakes);

}  // namespace starling::fleet
