#include "monitor/http/pages.h"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace starling::monitor {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kText = "text/plain; charset=utf-8";

// A page of another site can make a browser ask us under that site's name (DNS rebinding), and read
// the answer. So only names of this machine are answered, with any port: it may be forwarded.
bool NamesThisMachine(std::string host) {
  const std::size_t bracket = host.rfind(']'), colon = host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    const std::string port = host.substr(colon + 1);
    if (!std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; })) return false;
    host.resize(colon);
  }
  std::ranges::transform(host, host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json RowOf(const learner::ActorStatus& actor) {
  if (!actor.alive) {
    return {{"slot", actor.slot}, {"alive", false}, {"left", TextOrNull(actor.left)}};
  }
  return {{"slot", actor.slot},
          {"alive", true},
          {"host", actor.host},
          {"pid", actor.pid},
          {"key", TextOrNull(actor.key)},
          {"version", actor.version},
          {"lag", actor.staleness},
          {"gradients", actor.accepted},
          {"steps", actor.steps},
          {"wait_seconds", static_cast<double>(actor.wait_us) / 1e6},
          {"silent_seconds", actor.silent_s}};
}

}  // namespace

PageAnswer Sentence(unsigned status, std::string sentence) {
  return {.status = status,
          .content_type = kText,
          .body = std::make_shared<const std::string>(std::move(sentence) + "\n")};
}

Health HealthOf(const learner::PublishedStatus* published, std::int64_t now_ms) {
  if (!published) return {false, "starting: the learner does not listen to actors yet"};
  if (published->status.phase == "done") {
    return {false, "done: the run is over, or was told to stop"};
  }
  const std::int64_t silent_ms = now_ms - published->at_ms;
  if (silent_ms < kMaxSilentMs) return {true, "ok"};
  return {false, fmt::format("stuck: the learner's loop turned {:.1f} s ago for the last time",
                             static_cast<double>(silent_ms) / 1000)};
}

std::string StatusPage(const Config& config, const learner::PublishedStatus& published) {
  Json page = {{"unix_seconds", published.unix_s},
               {"run",
                {{"name", config.run.name},
                 {"env", config.env.name},
                 {"seed", config.run.seed},
                 {"steps", config.run.steps},
                 {"actors", config.actors.count}}}};
  page.update(learner::ToJson(published.status));
  page.erase("joined");  // `actors` says more
  page.erase("final");
  Json& actors = page["actors"] = Json::array();
  for (const learner::ActorStatus& actor : published.actors) actors.push_back(RowOf(actor));
  page["actors_not_listed"] = published.not_listed;
  // The names that actors give themselves need not be UTF-8.
  return page.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void Pages::Show(std::shared_ptr<const learner::PublishedStatus> published) {
  // The one before is destroyed with `published`, after the lock is released.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) newest_.swap(published);
}

std::shared_ptr<const learner::PublishedStatus> Pages::Newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

PageAnswer Pages::Answer(const PageRequest& request) {
  const bool head = request.method == "HEAD";
  if (!head && request.method != "GET") {
    return Sentence(405, "only GET and HEAD are allowed");
  }
  if (request.has_body) return Sentence(413, "a request has no body");
  if (request.hosts != 1 && (request.http_1_1 || request.hosts > 1)) {
    return Sentence(400, "a request has exactly one Host");
  }
  if (request.hosts == 1 && !NamesThisMachine(request.host)) {
    return Sentence(403,
                    "only requests from this machine are answered: ask for localhost or 127.0.0.1");
  }
  PageAnswer answer = Read(std::string_view(request.target).substr(0, request.target.find('?')));
  answer.head_only = head;
  return answer;
}

PageAnswer Pages::Read(std::string_view path) {
  if (path == "/metrics") {
    return Page(metrics_, MetricsPage, "text/plain; version=0.0.4; charset=utf-8");
  }
  if (path == "/status.json") return Page(status_, StatusPage, "application/json");
  if (path != "/healthz") return Sentence(404, "the pages are /metrics, /status.json and /healthz");
  Health health = HealthOf(Newest().get(), clock_.NowMs());
  return Sentence(health.well ? 200 : 503, std::move(health.sentence));
}

PageAnswer Pages::Page(Rendered& page, Render render, std::string content_type) {
  auto newest = Newest();
  if (!newest) return Sentence(503, HealthOf(nullptr, 0).sentence);
  if (page.of != newest) {
    page.text = std::make_shared<const std::string>(render(config_, *newest));
    page.of = std::move(newest);
  }
  return {.status = 200, .content_type = std::move(content_type), .body = page.text};
}

}  // namespace starling::monitor
