// Fixtures of this room: running a program in a directory of its own, and waiting for a condition.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace starling {

// True once `condition` holds; false if it does not within a time that no working machine needs.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(1000);
  }
  return true;
}

struct Finished {
  int status = -1;  // exit status, or 128 + signal
  std::string out, err;
};

// Runs a program to its end in `dir`, with `environment` ("NAME=value") added.
inline Finished RunProgram(const TempDir& dir, const std::vector<std::string>& words,
                           const std::vector<std::string>& environment = {}) {
  const std::string out = (dir.path() / ".out").string(), err = (dir.path() / ".err").string();
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::chdir(dir.path().c_str()) != 0) ::_exit(125);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), 2);
    for (const std::string& setting : environment) ::putenv(::strdup(setting.c_str()));
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(::strdup(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(126);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), dir.Read(".out"),
          dir.Read(".err")};
}

}  // namespace starling
