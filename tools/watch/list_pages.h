// The pages of a directory with runs: / lists them, /NAME/ are the pages of one of them.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "monitor/http/answer.h"
#include "monitor/page/run_page.h"
#include "tools/watch/run_pages.h"

namespace starling::watch {

// "a b/c" as "a%20b/c".
std::string AsAddress(std::string_view path);
// The other way round; what is no such escape stays.
std::string FromAddress(std::string_view address);

class ListPages {
 public:
  // `clock` must outlive this.
  ListPages(std::filesystem::path dir, const Clock& clock) : dir_(std::move(dir)), clock_(clock) {}

  // `path` as in the request.
  monitor::PageAnswer Answer(std::string_view path);

 private:
  struct Listed {
    std::filesystem::path dir;
    std::string stamp{};  // of its files, when `row` was made
    monitor::ListedRun row{};
    std::unique_ptr<RunPages> pages{};  // since they were needed
  };
  RunPages& PagesOf(Listed& run);
  void Look();
  std::string Part();

  const std::filesystem::path dir_;
  const Clock& clock_;
  std::map<std::string, Listed, std::less<>> runs_;  // by their path from dir_
  std::size_t not_listed_ = 0;
  std::int64_t looked_ms_ = INT64_MIN / 2;
};

}  // namespace starling::watch
