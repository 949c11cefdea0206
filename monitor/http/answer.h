// Requests for pages, and answers to them. No sockets.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::monitor {

// The part of a request that its answer depends on.
struct PageRequest {
  std::string method, target;
  bool http_1_1 = true;   // which requires a Host
  std::size_t hosts = 1;  // number of Host fields
  std::string host{};
  bool has_body = false;
  std::string authorization{}, cookie{};
  std::string fetch_site{}, fetch_dest{};  // Sec-Fetch-Site, -Dest; "" from other than browsers

  // The target without its query.
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
};

struct PageAnswer {
  unsigned status = 200;
  std::string content_type{};
  std::shared_ptr<const std::string> body{};
  bool head_only = false;                                      // send the length of the body only
  std::vector<std::pair<std::string, std::string>> headers{};  // further ones
};

using Answerer = std::function<PageAnswer(const PageRequest&)>;

// An answer of one sentence, as text.
PageAnswer Sentence(unsigned status, std::string sentence);

// A page for a browser. Its content-security policy allows no other host, and only the script and
// the style with `nonce`.
PageAnswer HtmlPage(std::string html, const std::string& nonce);

}  // namespace starling::monitor
