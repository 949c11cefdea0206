#include "learner/storage/run_lock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/process.h"

namespace starling::learner {
std::optional<std::string> LockHolder(const std::filesystem::path& run_dir) {
  const std::filesystem::path path = run_dir / "lock";
  if (!IsLocked(path)) return std::nullopt;
  const std::string holder = ReadFile(path);
  return holder.empty() ? "an unknown process id" : holder;
}

LockedFile LockRun(const std::filesystem::path& run_dir) {
  const std::filesystem::path path = run_dir / "lock";
  try {
    LockedFile lock(path);
    if (!lock.held()) {
      throw UserError(fmt::format("run directory {}: {} is still using it; end that process first",
                                  run_dir.string(),
                                  LockHolder(run_dir).value_or("an unknown process id")));
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
