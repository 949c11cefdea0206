#include "tools/watch/run_pages.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "monitor/http/gate.h"
#include "monitor/http/pages.h"
#include "results/run_record.h"
#include "tools/report/report.h"

namespace starling::watch {
namespace {

namespace fs = std::filesystem;
using monitor::PageAnswer;
using monitor::Sentence;

constexpr std::int64_t kFreshMs = 900;    // of the parts of a page
constexpr std::int64_t kListMs = 2000;    // of the list
constexpr std::size_t kMostListed = 500;  // rows; more would be no page any more

PageAnswer Text(std::string text, std::string content_type) {
  return {.content_type = std::move(content_type),
          .body = std::make_shared<const std::string>(std::move(text))};
}

PageAnswer WholePage(const std::string& title, const std::string& parts) {
  const std::string nonce = monitor::NewNonce();
  return monitor::HtmlPage(monitor::Document(title, parts, nonce), nonce);
}

// Changes whenever the run has news for its row.
std::uintmax_t SizeOfFiles(const fs::path& run_dir) {
  std::uintmax_t sum = 0;
  for (const char* file : {"metrics.jsonl", "summary.json", "config.toml"}) {
    std::error_code none;
    const std::uintmax_t size = fs::file_size(run_dir / file, none);
    if (!none) sum += size;
  }
  return sum;
}

monitor::ListedRun RowFor(const fs::path& run_dir, const std::string& link) {
  const results::LoadedRun run = results::LoadRun(run_dir);
  monitor::ListedRun row{.link = link,
                         .name = link,
                         .state = std::string(results::NameOf(run.state)),
                         .env = run.Key("env.name"),
                         .steps = run.steps(),
                         .problem = run.error};
  if (!run.metrics.empty()) row.mean_return = run.metrics.back().mean_return;
  return row;
}

}  // namespace

PageAnswer RunPages::Answer(std::string_view path) {
  if (path == "/") {
    const std::string& parts = Parts();
    return WholePage(run_.run_dir().filename().string() + " – Starling", parts);
  }
  if (path == "/parts") return Text(Parts(), "text/html; charset=utf-8");
  if (path == "/healthz" || path == "/metrics" || path == "/status.json") return OfStatus(path);
  return Sentence(404, "the pages are /, /metrics, /status.json and /healthz");
}

const std::string& RunPages::Parts() {
  run_.Look();
  const std::int64_t now = clock_.NowMs();
  if (now - made_ms_ >= kFreshMs) {
    parts_ = monitor::RunParts(run_);
    made_ms_ = now;
  }
  return parts_;
}

PageAnswer RunPages::OfStatus(std::string_view path) {
  run_.LookAtStatus();
  const auto& published = run_.published();
  monitor::Health health = monitor::HealthOf(published ? &*published : nullptr, clock_.NowMs());
  if (!run_.alive()) health = {.sentence = "over: no process of this run is at work here"};
  if (run_.learner_gone()) health = {.sentence = "gone: the learner has died; another one follows"};
  if (path == "/healthz") return Sentence(health.well ? 200 : 503, health.sentence);
  if (!published) return Sentence(503, health.sentence);
  if (path == "/metrics") {
    return Text(monitor::MetricsPage(*run_.config(), *published),
                "text/plain; version=0.0.4; charset=utf-8");
  }
  return Text(monitor::StatusPage(*run_.config(), *published), "application/json");
}

PageAnswer ListPages::Answer(std::string_view path) {
  // 1. The list.
  if (path == "/healthz") return Sentence(200, "ok");
  if (path == "/") {
    Look();
    return WholePage("runs – Starling", Part());
  }
  if (path == "/parts") {
    Look();
    return Text(Part(), "text/html; charset=utf-8");
  }

  // 2. A page of the longest name that fits: runs may be two levels below.
  if (runs_.empty()) Look();
  for (std::size_t end = path.rfind('/'); end != 0 && end != std::string_view::npos;
       end = path.rfind('/', end - 1)) {
    const auto found = runs_.find(path.substr(1, end - 1));
    if (found == runs_.end()) continue;
    Listed& run = found->second;
    if (!run.pages) run.pages = std::make_unique<RunPages>(run.dir, clock_);
    return run.pages->Answer(path.substr(end));
  }
  return Sentence(404, "there is no such run; / lists them");
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
  std::map<std::string, Listed, std::less<>> runs;
  for (const report::FoundRun& one : found) {
    const std::string link = fs::relative(one.dir, dir_).string();
    if (link.find_first_of("?#%") != std::string::npos) continue;  // no plain address
    auto before = runs_.extract(link);
    Listed run = before.empty() ? Listed{.dir = one.dir} : std::move(before.mapped());
    const std::uintmax_t size = SizeOfFiles(run.dir);
    if (run.row.link.empty() || size != run.size) run.row = RowFor(run.dir, link);
    run.size = size;
    runs.emplace(link, std::move(run));
    if (runs.size() == kMostListed) break;
  }
  runs_ = std::move(runs);
}

std::string ListPages::Part() const {
  std::vector<monitor::ListedRun> rows;
  for (const auto& [link, run] : runs_) rows.push_back(run.row);
  return monitor::ListPart(rows, dir_.string());
}

}  // namespace starling::watch
