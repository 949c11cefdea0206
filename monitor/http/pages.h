// What there is to read of a run, and what a request for it is answered with. No sockets.
//
// Thread safety: Show may be called from any thread, the rest from one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/config/config.h"
#include "learner/bulletin.h"
#include "monitor/http/latest.h"

namespace starling::monitor {

// As far as it matters here.
struct PageRequest {
  std::string method, target;
  bool http_1_1 = true;   // which must name its host
  std::size_t hosts = 1;  // so many times it does
  std::string host{};
  bool has_body = false;
};

struct PageAnswer {
  unsigned status = 200;
  std::string content_type{};
  std::shared_ptr<const std::string> body{};
  bool head_only = false;  // the body is only announced
};

// A sentence as text.
PageAnswer Sentence(unsigned status, std::string sentence);

class Pages {
 public:
  // Both outlive it.
  Pages(const Config& config, const Clock& clock) : config_(config), clock_(clock) {}

  // Never waits, and keeps only the newest.
  void Show(std::shared_ptr<const learner::Bulletin> bulletin);

  PageAnswer Answer(const PageRequest& request);

 private:
  // Rendered once for each bulletin, however many ask for it.
  struct Rendered {
    std::shared_ptr<const learner::Bulletin> of;
    std::shared_ptr<const std::string> text;
  };
  using Render = std::string (*)(const Config&, const learner::Bulletin&);

  PageAnswer Read(std::string_view path);
  PageAnswer Page(Rendered& page, Render render, std::string content_type);

  const Config& config_;
  const Clock& clock_;
  Latest<learner::Bulletin> latest_;
  Rendered metrics_, status_;
};

}  // namespace starling::monitor
