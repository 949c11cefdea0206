#include "tools/watch/run_pages.h"

#include <memory>
#include <system_error>
#include <utility>

#include "monitor/http/gate.h"
#include "monitor/page/run_page.h"

namespace starling::watch {
namespace {

using monitor::PageAnswer;
using monitor::Sentence;

constexpr std::int64_t kFreshMs = 900;  // of the parts of a page

}  // namespace

bool IsRun(const std::filesystem::path& dir) {
  std::error_code none;
  return std::filesystem::exists(dir / "config.toml", none);
}

PageAnswer Text(std::string text, std::string content_type) {
  return {.content_type = std::move(content_type),
          .body = std::make_shared<const std::string>(std::move(text))};
}

PageAnswer WholePage(const std::string& title, const std::string& parts) {
  const std::string nonce = monitor::NewNonce();
  return monitor::HtmlPage(monitor::Document(title + " – Starling", parts, nonce), nonce);
}

PageAnswer RunPages::Answer(std::string_view path) {
  if (path == "/") return WholePage(run_.run_dir().filename().string(), Parts());
  if (path == "/parts") return Text(Parts(), "text/html; charset=utf-8");
  if (path == "/play") return Text(picture_.Newest(), "application/json");
  if (path == "/healthz" || path == "/metrics" || path == "/status.json") return OfStatus(path);
  return Sentence(404, "the pages are /, /metrics, /status.json and /healthz");
}

bool RunPages::FindAlive() {
  picture_.Tend();
  run_.LookAtStatus();
  return run_.alive();
}

const std::string& RunPages::Parts() {
  picture_.Tend();
  run_.Look();
  const std::int64_t now = clock_.NowMs();
  if (now - made_ms_ >= kFreshMs) {
    parts_ = monitor::RunParts(run_);
    made_ms_ = now;
  }
  return parts_;
}

monitor::Health RunPages::Health() {
  run_.LookAtStatus();
  if (run_.alive()) begins_ = false;
  const auto& published = run_.published();
  if (!run_.alive() && !begins_) {
    return {.sentence = run_.config() ? "over: no process of this run is at work here"
                                      : "over: without its config.toml no process of it is found",
            .over = true};
  }
  // Between two learners, before the first and after the last, the supervisor knows more.
  if (const auto& fleet = run_.fleet(); fleet && !fleet->learner_alive) {
    if (fleet->redo) return {true, "ok: what a killed learner had applied is done again"};
    if (fleet->over) return {.sentence = "done: the run comes to its end", .done = true};
    if (published) return {.sentence = "gone: the learner has died; another one follows"};
  }
  return monitor::HealthOf(published ? &*published : nullptr, clock_.NowMs());
}

PageAnswer RunPages::OfStatus(std::string_view path) {
  picture_.Tend();
  const monitor::Health health = Health();
  const auto& published = run_.published();
  if (path == "/healthz") return Sentence(health.well ? 200 : 503, health.sentence);
  if (!published) return Sentence(503, health.sentence);
  if (path == "/metrics") {
    return Text(monitor::MetricsPage(*run_.config(), *published),
                "text/plain; version=0.0.4; charset=utf-8");
  }
  return Text(monitor::StatusPage(*run_.config(), *published), "application/json");
}

}  // namespace starling::watch
