#include "tools/watch/list_pages.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "results/run_record.h"
#include "tools/report/groups.h"
#include "tools/report/report.h"

namespace starling::watch {
namespace {

namespace fs = std::filesystem;
using monitor::PageAnswer;
using monitor::Sentence;

constexpr std::int64_t kListMs = 2000;     // between two looks at the directory
constexpr std::size_t kMostListed = 1000;  // runs: more would be no page any more

// Changes whenever the run has news for its row.
std::string StampOf(const report::FoundRun& run) {
  std::string stamp = fmt::format("{} {}", run.begun, run.error);
  for (const char* file : {"metrics.jsonl", "summary.json", "config.toml"}) {
    std::error_code none;
    const std::uintmax_t size = fs::file_size(run.dir / file, none);
    const auto time = fs::last_write_time(run.dir / file, none);
    stamp += none ? " -" : fmt::format(" {} {}", size, time.time_since_epoch().count());
  }
  return stamp;
}

monitor::ListedRun RowFor(const report::FoundRun& found, const std::string& name) {
  const results::LoadedRun run = results::LoadRun(found.dir, /*curves=*/false);
  const results::RunState state = found.begun ? run.state : results::RunState::kNotBegun;
  monitor::ListedRun row{.link = "./" + AsAddress(name) + "/",
                         .name = name,
                         .state = std::string(results::NameOf(state)),
                         .env = report::Plain(run.Key("env.name")),
                         .steps = run.steps(),
                         .problem = found.error.empty() ? run.error : found.error};
  if (!run.metrics.empty()) row.mean_return = run.metrics.back().mean_return;
  return row;
}

// Returns the value of a hexadecimal digit pair; nullopt if it is none.
std::optional<char> ByteOf(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
  return static_cast<char>(value);
}

}  // namespace

std::string AsAddress(std::string_view path) {
  std::string address;
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    address += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return address;
}

std::string FromAddress(std::string_view address) {
  std::string path;
  for (std::size_t at = 0; at < address.size(); ++at) {
    const auto byte = address[at] == '%' ? ByteOf(address.substr(at + 1, 2)) : std::nullopt;
    path += byte.value_or(address[at]);
    if (byte) at += 2;
  }
  return path;
}

PageAnswer ListPages::Answer(std::string_view path) {
  // 1. The list.
  if (path == "/healthz") return Sentence(200, "ok");
  Look();
  if (path == "/") return WholePage("runs", Part());
  if (path == "/parts") return Text(Part(), "text/html; charset=utf-8");

  // 2. A page of the longest name that fits: runs may be two levels below.
  for (std::size_t end = path.rfind('/'); end != 0 && end != std::string_view::npos;
       end = path.rfind('/', end - 1)) {
    const auto found = runs_.find(FromAddress(path.substr(1, end - 1)));
    if (found != runs_.end()) return PagesOf(found->second).Answer(path.substr(end));
  }
  return Sentence(404, "there is no such run; / lists them, and their addresses end with /");
}

RunPages& ListPages::PagesOf(Listed& run) {
  if (!run.pages) run.pages = std::make_unique<RunPages>(run.dir, clock_);
  return *run.pages;
}

void ListPages::Look() {
  const std::int64_t now = clock_.NowMs();
  if (now - looked_ms_ < kListMs) return;
  looked_ms_ = now;
  std::vector<report::FoundRun> found;
  try {
    found = report::FindRuns({dir_});
  } catch (const UserError&) {  // there is none yet
  }
  not_listed_ = found.size() - std::min(found.size(), kMostListed);
  found.resize(found.size() - not_listed_);
  std::map<std::string, Listed, std::less<>> runs;
  for (const report::FoundRun& one : found) {
    const std::string name = one.dir.lexically_relative(dir_).string();
    auto before = runs_.extract(name);
    Listed run = before.empty() ? Listed{.dir = one.dir} : std::move(before.mapped());
    if (const std::string stamp = StampOf(one); stamp != run.stamp) {
      run.stamp = stamp;
      run.row = RowFor(one, name);
    }
    runs.emplace(name, std::move(run));
  }
  runs_ = std::move(runs);
}

std::string ListPages::Part() {
  std::vector<monitor::ListedRun> rows;
  for (auto& [name, run] : runs_) {
    monitor::ListedRun& row = rows.emplace_back(run.row);
    const bool stands = row.state == results::NameOf(results::RunState::kUnfinished) ||
                        row.state == results::NameOf(results::RunState::kFailed);
    if (stands && PagesOf(run).FindAlive()) {
      row.state = results::NameOf(results::RunState::kRunning);
      row.problem.clear();  // of the time before
    }
  }
  return monitor::ListPart(rows, not_listed_, dir_.string());
}

}  // namespace starling::watch
