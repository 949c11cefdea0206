#include "monitor/http/answer.h"

#include <fmt/format.h>

namespace starling::monitor {

PageAnswer Sentence(unsigned status, std::string sentence) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::make_shared<const std::string>(std::move(sentence) + "\n")};
}

PageAnswer HtmlPage(std::string html, const std::string& nonce) {
  return {.content_type = "text/html; charset=utf-8",
          .body = std::make_shared<const std::string>(std::move(html)),
          .headers = {{"Content-Security-Policy",
                       fmt::format("default-src 'none'; script-src 'nonce-{0}'; style-src "
                                   "'nonce-{0}'; img-src 'self' data:; connect-src 'self'; "
                                   "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
                                   nonce)}}};
}

}  // namespace starling::monitor
