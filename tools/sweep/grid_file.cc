#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>

#include "core/config/config_schema.h"
#include "core/config/config_toml.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {
namespace {

constexpr std::int64_t kMaxAtOnce = 64, kMaxEpisodes = 10'000'000;

// If the sweep sets `key` itself, returns how to choose its values; otherwise "".
std::string_view TakenBy(std::string_view key) {
  if (key == "run.seed") return "list them in seeds = [...]";
  if (key == "run.dir") return "every run has a directory of its own under dir = \"...\"";
  if (key == "run.name") return "runs are named after their point of the grid";
  return "";
}

class Reader {
 public:
  Reader(GridFile& file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  void Read(const toml::table& document) {
    // 1. Read each key on its own.
    for (const auto& [key, node] : document) {
      const std::string name(key.str());
      if (name == "config") {
        Text(name, node, file_.plan.config);
        file_.config_location = At(node.source());
      } else if (name == "dir") {
        Text(name, node, file_.plan.dir);
      } else if (name == "at_once") {
        if (const auto value = Integer(name, node, 1, kMaxAtOnce)) {
          file_.plan.at_once = static_cast<int>(*value);
        }
      } else if (name == "simulate") {
        file_.plan.simulate = Boolean(name, node);
      } else if (name == "eval_episodes") {
        file_.plan.eval.episodes =
            Integer(name, node, 0, kMaxEpisodes).value_or(file_.plan.eval.episodes);
      } else if (name == "eval_greedy") {
        file_.plan.eval.greedy = Boolean(name, node);
      } else if (name == "seeds") {
        Seeds(node);
      } else if (name == "set" || name == "grid") {
        Keys(name, node, name == "set" ? file_.set : file_.grid);
      } else if (name == "where") {
        Wheres(node);
      } else {
        Unknown(name, At(key.source()));
      }
    }
    // 2. Check the keys against each other.
    Overlaps();
    VariedInVain();
    CheckConditions(file_, diagnostics_);
  }

 private:
  SourceLocation At(const toml::source_region& region) const {
    const auto [line, column] = region.begin;
    return {fmt::format("{}:{}:{}", file_.plan.file.string(), line, column), line, column};
  }

  void Refuse(const std::string& name, const toml::node& node, const std::string& allowed) {
    diagnostics_.Add(At(node.source()), fmt::format("{} = {} is not allowed; allowed: {}", name,
                                                    TomlText(node), allowed));
  }

  void Unknown(const std::string& name, const SourceLocation& location) {
    static const std::vector<std::string> known = {
        "config",        "dir",         "at_once", "simulate", "seeds",
        "eval_episodes", "eval_greedy", "set",     "grid",     "where"};
    const bool section = std::ranges::count(ConfigSections(), name) > 0;
    diagnostics_.Add(
        location, section ? fmt::format("{} is a section of a configuration: write its keys under "
                                        "[grid] (lists of values) or [set] (one value each)",
                                        name)
                          : fmt::format("unknown key {}; keys of a grid: {}{}", name,
                                        fmt::join(known, ", "), DidYouMean(name, known)));
  }

  void Text(const std::string& name, const toml::node& node, std::filesystem::path& out) {
    const auto text = node.value_exact<std::string>();
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (text && !text->empty() && text->front() != '~' && std::ranges::none_of(*text, is_control)) {
      out = *text;
    } else {
      Refuse(name, node, "a path, without ~ and control characters");
    }
  }

  std::optional<std::int64_t> Integer(const std::string& name, const toml::node& node,
                                      std::int64_t low, std::int64_t high) {
    const auto value = node.value_exact<std::int64_t>();
    if (value && *value >= low && *value <= high) return value;
    Refuse(name, node, fmt::format("an integer from {} to {}", low, high));
    return std::nullopt;
  }

  bool Boolean(const std::string& name, const toml::node& node) {
    const auto value = node.value_exact<bool>();
    if (!value) {
      Refuse(name, node,
             node.is_table() && name == "simulate"
                 ? "true, false; keys of the section simulate stand under [set] or "
                   "[grid]: simulate.stragglers = ..."
                 : "true, false");
    }
    return value.value_or(false);
  }

  void Seeds(const toml::node& node) {
    // 1. Refuse anything but a list with elements.
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) {
      return Refuse("seeds", node, "a list of integers, as in [1, 2, 3]");
    }
    // 2. Replace the default seeds with the valid ones of the list.
    file_.plan.seeds.clear();
    for (const toml::node& element : *list) {
      const auto seed = Integer("a seed", element, 0, std::numeric_limits<std::int64_t>::max());
      if (!seed) continue;
      const auto value = static_cast<std::uint64_t>(*seed);
      if (std::ranges::count(file_.plan.seeds, value) > 0) {
        diagnostics_.Add(At(element.source()), fmt::format("seed {} is listed twice", value));
      }
      file_.plan.seeds.push_back(value);
    }
  }

  // Reads every [[where]]: conditions, and the section `set`.
  void Wheres(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr || !list->is_array_of_tables()) {
      return diagnostics_.Add(At(node.source()), "where is a list of sections: write [[where]]");
    }
    for (const toml::node& element : *list) {
      GridWhere where;
      const std::string before = diagnostics_.Text();
      Keys("where", element, where.when);
      if (const toml::node* set = element.as_table()->get("set")) Keys("set", *set, where.set);
      const bool well = diagnostics_.Text() == before;
      if (well && where.set.empty()) {
        diagnostics_.Add(At(element.source()),
                         "[[where]] sets nothing: write set.section.key = value");
      } else if (well && where.when.empty()) {
        diagnostics_.Add(At(element.source()),
                         "[[where]] has no condition: write a key of [grid] and its values, or put "
                         "settings for all points under [set]");
      }
      file_.wheres.push_back(std::move(where));
    }
  }

  // Reads [set], [grid] or the conditions of a [[where]]. A key is in a section, dotted, or dotted
  // within quotes.
  void Keys(const std::string& part, const toml::node& node, std::vector<GridKey>& out) {
    const toml::table* sections = node.as_table();
    if (sections == nullptr) {
      return diagnostics_.Add(At(node.source()),
                              fmt::format("{} is a section: write [{}]", part, part));
    }
    for (const auto& [section, inner] : *sections) {
      const std::string name(section.str());
      if (part == "where" && name == "set") continue;
      if (const toml::table* keys = inner.as_table()) {
        for (const auto& [key, value] : *keys) {
          Key(part, fmt::format("{}.{}", name, key.str()), At(key.source()), value, out);
        }
      } else if (name.find('.') != std::string::npos) {
        Key(part, name, At(section.source()), inner, out);
      } else {
        diagnostics_.Add(
            At(section.source()),
            fmt::format("{} stands outside of every section: write it as section.{}", name, name));
      }
    }
    // A TOML table is unordered: restore the order of the file.
    std::ranges::sort(out, {}, [](const GridKey& key) {
      return std::tuple(key.location.line, key.location.column);
    });
  }

  // Reads one key of [set] (one value), of [grid] (a list of values) or of a condition (either).
  void Key(const std::string& part, const std::string& name, const SourceLocation& location,
           const toml::node& node, std::vector<GridKey>& out) {
    // 1. Refuse keys that belong to the sweep, and tables.
    if (const std::string_view how = TakenBy(name); !how.empty()) {
      return diagnostics_.Add(location, fmt::format("{} is set by the sweep: {}", name, how));
    }
    if (node.is_table()) {
      return diagnostics_.Add(location,
                              fmt::format("{} is a table: keys are written section.key", name));
    }
    // 2. Take the value or the values.
    GridKey key{name, location, {}};
    if (part == "set" || (part == "where" && !node.is_array())) {
      key.values.push_back({TomlText(node), At(node.source())});
    } else if (const toml::array* list = node.as_array(); list != nullptr && !list->empty()) {
      for (const toml::node& value : *list) {
        key.values.push_back({TomlText(value), At(value.source())});
      }
    } else {
      return diagnostics_.Add(
          At(node.source()),
          fmt::format("{} = {} is no list of values: write [...], or put one value for "
                      "all runs under [set]",
                      name, TomlText(node)));
    }
    out.push_back(std::move(key));
  }

  // Refuses keys of [simulate] that differ between points if the runs are trained.
  void VariedInVain() {
    if (file_.plan.simulate) return;
    std::vector<GridKey> all = file_.grid;
    for (const GridWhere& where : file_.wheres) {
      all.insert(all.end(), where.set.begin(), where.set.end());
    }
    for (const GridKey& key : all) {
      if (!key.name.starts_with("simulate.")) continue;
      diagnostics_.Add(key.location,
                       fmt::format("{} varies, and training reads none of it: to simulate the "
                                   "runs write simulate = true at the top",
                                   key.name));
    }
  }

  void Overlaps() {
    Unique({&file_.set, &file_.grid});
    for (const GridWhere& where : file_.wheres) {
      Unique({&file_.grid, &where.set});
      Unique({&where.when});
    }
  }

  // Refuses a key that appears twice.
  void Unique(std::initializer_list<const std::vector<GridKey>*> lists) {
    std::map<std::string, SourceLocation> seen;
    for (const std::vector<GridKey>* keys : lists) {
      for (const GridKey& key : *keys) {
        const auto [before, is_new] = seen.emplace(key.name, key.location);
        if (is_new) continue;
        diagnostics_.Add(key.location,
                         fmt::format("{} stands here twice ({})", key.name, before->second.text));
      }
    }
  }

  GridFile& file_;
  Diagnostics& diagnostics_;
};

std::string ReadText(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UserError(fmt::format("{} is a directory; give the TOML file of a grid", path.string()));
  }
  try {
    return ReadFile(path, kMaxTomlBytes);
  } catch (const std::system_error& error) {
    throw UserError(
        fmt::format("grid {} cannot be read: {}", path.string(), error.code().message()));
  }
}

}  // namespace

GridFile ReadGridFile(const std::filesystem::path& path, Diagnostics& diagnostics) {
  GridFile file;
  file.plan = {.file = path,
               .config = "",
               .dir = std::filesystem::path("sweeps") / path.stem(),
               .seeds = {1, 2, 3},
               .eval = {.episodes = 100},
               .points = {}};
  file.config_location.text = path.string();
  try {
    Reader(file, diagnostics).Read(ParseToml(ReadText(path), path.string()));
  } catch (const toml::parse_error& error) {
    std::string sentence(error.description());
    std::ranges::replace(sentence, '\n', ' ');
    const auto [line, column] = error.source().begin;
    throw UserError(fmt::format("{}:{}:{}: {}", path.string(), line, column, sentence));
  }
  return file;
}

}  // namespace starling::sweep
