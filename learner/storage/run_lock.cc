#include "learner/storage/run_lock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <system_error>

#include "core/error.h"
#include "core/file.h"

namespace starling::learner {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

}  // namespace

LockedFile LockRun(const std::filesystem::path& run_dir) {
  const std::filesystem::path path = run_dir / "lock";
  try {
    LockedFile lock(path);
    if (!lock.held()) {
      const std::string holder = ReadFile(path);
      throw UserError(fmt::format("run directory {}: {} is still using it; end that process first",
                                  run_dir.string(),
                                  holder.empty() ? "an unknown process id" : holder));
    }
    const std::string holder = fmt::format("process id {} on {}", ::getpid(), HostName());
    const bool written = ::ftruncate(lock.fd(), 0) == 0 &&
                         ::write(lock.fd(), holder.data(), holder.size()) == std::ssize(holder);
    // A full disk is no reason to refuse: the lock holds without its holder's name.
    if (!written) [[maybe_unused]]
      const int emptied = ::ftruncate(lock.fd(), 0);
    return lock;
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("run directory {}: its lock cannot be written ({})",
                                run_dir.string(), error.code().message()));
  }
}

}  // namespace starling::learner
