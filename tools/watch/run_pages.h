// The pages of one run, and of a directory with runs, by their paths.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "monitor/http/answer.h"
#include "monitor/page/run_page.h"
#include "monitor/run_follower.h"

namespace starling::watch {

// A run: / is its page, /parts what changes in it, /status.json, /metrics and /healthz are for
// programs. Made anew at most once a second, for all readers together.
class RunPages {
 public:
  RunPages(const std::filesystem::path& run_dir, const Clock& clock)
      : clock_(clock), run_(run_dir, clock) {}

  // `path` begins with "/".
  monitor::PageAnswer Answer(std::string_view path);

 private:
  const std::string& Parts();
  monitor::PageAnswer OfStatus(std::string_view path);

  const Clock& clock_;
  monitor::RunFollower run_;
  std::string parts_;
  std::int64_t made_ms_ = INT64_MIN / 2;  // parts_
};

// A directory: / lists its runs, /NAME/ are the pages of one of them.
class ListPages {
 public:
  ListPages(std::filesystem::path dir, const Clock& clock) : dir_(std::move(dir)), clock_(clock) {}

  monitor::PageAnswer Answer(std::string_view path);

 private:
  struct Listed {
    std::filesystem::path dir;
    std::uintmax_t size = 0;  // of its files, when `row` was made
    monitor::ListedRun row{};
    std::unique_ptr<RunPages> pages{};  // since somebody looked
  };
  void Look();
  std::string Part() const;

  const std::filesystem::path dir_;
  const Clock& clock_;
  std::map<std::string, Listed, std::less<>> runs_;  // by link
  std::int64_t looked_ms_ = INT64_MIN / 2;
};

}  // namespace starling::watch
