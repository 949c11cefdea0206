#include "monitor/http/pages.h"

#include <algorithm>
#include <utility>

#include "monitor/http/health.h"
#include "monitor/http/metrics_page.h"
#include "monitor/http/status_page.h"

namespace starling::monitor {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";

// A page of another site can make a browser ask us under that site's name (DNS rebinding), and read the
// answer: only names of this machine are answered. Any port: it may be forwarded.
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

}  // namespace

PageAnswer Sentence(unsigned status, std::string sentence) {
  return {.status = status,
          .content_type = kText,
          .body = std::make_shared<const std::string>(std::move(sentence) + "\n")};
}

void Pages::Show(std::shared_ptr<const learner::Bulletin> bulletin) {
  latest_.Offer(std::move(bulletin));
}

PageAnswer Pages::Answer(const PageRequest& request) {
  const bool head = request.method == "HEAD";
  if (!head && request.method != "GET") {
    return Sentence(405, "there is nothing here but to read: GET or HEAD");
  }
  if (request.has_body) return Sentence(413, "a request here has no body");
  if (request.hosts != 1 && (request.http_1_1 || request.hosts > 1)) {
    return Sentence(400, "a request has exactly one Host");
  }
  if (request.hosts == 1 && !NamesThisMachine(request.host)) {
    return Sentence(403, "this is only for this machine: ask for localhost or 127.0.0.1");
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
  if (path != "/healthz") return Sentence(404, "there are /metrics, /status.json and /healthz");
  Health health = HealthOf(latest_.Get().get(), clock_.NowMs());
  return Sentence(health.well ? 200 : 503, std::move(health.sentence));
}

PageAnswer Pages::Page(Rendered& page, Render render, std::string content_type) {
  auto latest = latest_.Get();
  if (!latest) return Sentence(503, HealthOf(nullptr, 0).sentence);
  if (page.of != latest) {
    page.text = std::make_shared<const std::string>(render(config_, *latest));
    page.of = std::move(latest);
  }
  return {.status = 200, .content_type = std::move(content_type), .body = page.text};
}

}  // namespace starling::monitor
