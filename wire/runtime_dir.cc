#include "wire/runtime_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "wire/endpoint.h"

#include <xxhash.h>

namespace starling::wire {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameDigits = 12;
constexpr std::string_view kWeights = "weights-";

std::string ErrorText(int error) { return std::generic_category().message(error); }

[[noreturn]] void Fail(const fs::path& path, const std::string& what, const std::string& advice) {
  throw UserError(fmt::format("runtime directory {}: {}; {}", path.string(), what, advice));
}

// Holds an flock while it lives.
class FileLock {
 public:
  // Opens, creating if need be. An unopened one is left in `error()`.
  explicit FileLock(const fs::path& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)),
        error_(fd_ < 0 ? errno : 0) {}
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  int error() const { return error_; }
  int fd() const { return fd_; }
  bool Lock() { return Flock(LOCK_EX); }
  bool TryLock() { return Flock(LOCK_EX | LOCK_NB); }
  int Release() { return std::exchange(fd_, -1); }

 private:
  bool Flock(int operation) {
    while (flock(fd_, operation) != 0) {
      if (errno != EINTR) {
        error_ = errno;
        return false;
      }
    }
    return true;
  }
  int fd_;
  int error_;
};

// Everybody who creates or removes a place holds this, for a moment.
void LockRoot(const fs::path& root, FileLock& lock) {
  if (lock.error() != 0 || !lock.Lock()) {
    Fail(root, fmt::format("cannot lock it: {}", ErrorText(lock.error())),
         "check its permissions or set wire.runtime_dir");
  }
}

bool IsWritableDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && access(path.c_str(), W_OK | X_OK) == 0;
}

fs::path FindBase(const std::string& configured) {
  if (!configured.empty()) {
    if (!IsWritableDirectory(configured)) {
      Fail(configured, "not a directory that we may write to", "create it or set wire.runtime_dir");
    }
    return fs::canonical(configured);
  }
  std::vector<fs::path> candidates = {"/dev/shm", "/tmp"};
  if (const char* xdg = std::getenv("XDG_RUNTIME_DIR"); xdg != nullptr && *xdg == '/') {
    candidates.insert(candidates.begin(), xdg);
  }
  const auto found = std::find_if(candidates.begin(), candidates.end(), IsWritableDirectory);
  if (found == candidates.end()) {
    Fail("", "none of $XDG_RUNTIME_DIR, /dev/shm and /tmp can be written to",
         "set wire.runtime_dir");
  }
  return *found;
}

fs::path PlacePath(const fs::path& root, const fs::path& run_dir) {
  fs::path canonical = fs::weakly_canonical(fs::absolute(run_dir)).lexically_normal();
  if (!canonical.has_filename()) canonical = canonical.parent_path();  // "run/" is "run"
  const std::string text = canonical.string();
  const std::uint64_t hash = XXH64(text.data(), text.size(), 0);
  return root / fmt::format("{:012x}", hash >> (64 - 4 * kNameDigits));
}

bool IsPlaceName(const std::string& name) {
  return name.size() == kNameDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Everything in a place but its lock.
void Clear(const fs::path& place) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    if (entry.path().filename() != "lock") fs::remove_all(entry.path(), error);
  }
}

// The caller holds the root's lock.
std::size_t RemoveUnlocked(const fs::path& root) {
  std::size_t removed = 0;
  std::error_code error;
  std::vector<fs::path> places;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (IsPlaceName(entry.path().filename().string()) &&
        fs::is_directory(entry.symlink_status(error))) {
      places.push_back(entry.path());
    }
  }
  for (const fs::path& place : places) {
    FileLock lock(place / "lock");
    if (lock.error() != 0 || !lock.TryLock()) continue;
    fs::remove_all(place, error);
    ++removed;
  }
  return removed;
}

}  // namespace

fs::path RuntimeRoot(const std::string& configured) {
  const fs::path root = FindBase(configured) / fmt::format("starling-{}", geteuid());
  if (mkdir(root.c_str(), 0700) == 0) {
    chmod(root.c_str(), 0700);  // whatever the umask is
  } else if (errno != EEXIST) {
    Fail(root, fmt::format("cannot be created: {}", ErrorText(errno)), "set wire.runtime_dir");
  }
  // Others may write to /tmp: what has our name there need not be ours.
  struct stat status {};
  if (lstat(root.c_str(), &status) != 0) {
    Fail(root, ErrorText(errno), "set wire.runtime_dir");
  }
  if (!S_ISDIR(status.st_mode)) {
    Fail(root, S_ISLNK(status.st_mode) ? "is a symbolic link" : "is not a directory",
         "remove it or set wire.runtime_dir");
  }
  if (status.st_uid != geteuid()) {
    Fail(root, fmt::format("belongs to user {}", status.st_uid), "set wire.runtime_dir");
  }
  if ((status.st_mode & 0777) != 0700) {
    Fail(root, fmt::format("has mode {:04o}, so others may enter", status.st_mode & 0777),
         "chmod 0700 it or set wire.runtime_dir");
  }
  return root;
}

RunPlace RunPlace::Create(const fs::path& root, const fs::path& run_dir) {
  const fs::path path = PlacePath(root, run_dir);
  const std::size_t longest = (path / "control").string().size();
  if (longest > kMaxSocketPath) {
    Fail(root,
         fmt::format("its sockets' paths would have {} bytes, {} are possible", longest,
                     kMaxSocketPath),
         "set wire.runtime_dir to a shorter path");
  }
  FileLock root_lock(root / "lock");
  LockRoot(root, root_lock);
  RemoveUnlocked(root);
  if (mkdir(path.c_str(), 0700) == 0) {
    chmod(path.c_str(), 0700);
  } else if (errno != EEXIST) {
    Fail(path, fmt::format("cannot be created: {}", ErrorText(errno)), "set wire.runtime_dir");
  }
  FileLock lock(path / "lock");
  if (lock.error() != 0) Fail(path, ErrorText(lock.error()), "set wire.runtime_dir");
  if (!lock.TryLock()) {
    const std::string pid = ReadFile(path / "lock");
    throw UserError(fmt::format(
        "run directory {}: the learner with process id {} is still at work on it; end that one or "
        "choose another --run-dir",
        run_dir.string(), pid.empty() ? "unknown" : pid));
  }
  Clear(path);
  const std::string pid = std::to_string(getpid());
  if (ftruncate(lock.fd(), 0) != 0 ||
      pwrite(lock.fd(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    Fail(path, fmt::format("cannot be written: {}", ErrorText(errno)), "free space there");
  }
  return {root, path, lock.Release()};
}

RunPlace::RunPlace(fs::path root, fs::path path, int lock_fd)
    : root_(std::move(root)), path_(std::move(path)), lock_fd_(lock_fd), owner_pid_(getpid()) {}

RunPlace::RunPlace(RunPlace&& other) noexcept
    : root_(std::move(other.root_)),
      path_(std::move(other.path_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      owner_pid_(other.owner_pid_) {}

RunPlace::~RunPlace() { Remove(); }

void RunPlace::Remove() {
  if (lock_fd_ < 0 || owner_pid_ != getpid()) return;
  FileLock root_lock(root_ / "lock");
  if (root_lock.error() == 0) root_lock.Lock();
  std::error_code error;
  fs::remove_all(path_, error);
  close(std::exchange(lock_fd_, -1));
}

std::string RunPlace::SocketEndpoint(const std::string& name) const {
  return "ipc://" + (path_ / name).string();
}

fs::path RunPlace::SnapshotPath(std::uint32_t term) const {
  return path_ / fmt::format("{}{}", kWeights, term);
}

fs::path RunPlace::SlicePath(const fs::path& snapshot, std::size_t shard) {
  const std::string name = snapshot.filename().string();
  return snapshot.parent_path() / fmt::format("slice-{}-of-{}", shard, name);
}

fs::path RunPlace::BuffersPath(std::uint32_t slot, std::uint32_t incarnation) const {
  return path_ / fmt::format("gradients-{}-{}", slot, incarnation);
}

void RunPlace::WriteKeys(const Credentials& keys) const {
  WriteFileAtomically(
      path_ / "keys",
      fmt::format("{}\n{}\n{}\n", keys.own.public_key, keys.own.secret_key, keys.server_key), 0600);
}

std::optional<Credentials> RunPlace::FindKeys(const fs::path& root, const fs::path& run_dir) {
  try {
    std::istringstream text(ReadFile(PlacePath(root, run_dir) / "keys"));
    Credentials keys;
    if (text >> keys.own.public_key >> keys.own.secret_key >> keys.server_key) return keys;
  } catch (const std::system_error&) {  // a learner without keys, or none
  }
  return std::nullopt;
}

void RunPlace::WriteEndpoint(const std::string& endpoint) const {
  WriteFileAtomically(path_ / "endpoint", endpoint);
}

RunPlace::Found RunPlace::Find(const fs::path& root, const fs::path& run_dir) {
  Found found{PlacePath(root, run_dir) / "endpoint", std::nullopt};
  try {
    found.endpoint = ReadFile(found.endpoint_file);
  } catch (const std::system_error&) {  // not there yet
  }
  return found;
}

std::optional<int> RunPlace::FindOwner(const fs::path& root, const fs::path& run_dir) {
  const fs::path path = PlacePath(root, run_dir) / "lock";
  std::error_code none;
  if (!fs::exists(path, none)) return std::nullopt;
  FileLock root_lock(root / "lock");  // who is opening a place shall not find it locked by us
  LockRoot(root, root_lock);
  FileLock lock(path);
  if (lock.error() != 0 || lock.TryLock()) return std::nullopt;
  int pid = 0;
  std::istringstream(ReadFile(path)) >> pid;
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

// Create removes what a killed learner left, so that there is one at most.
std::optional<fs::path> RunPlace::FindSnapshot(const fs::path& root, const fs::path& run_dir) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(PlacePath(root, run_dir), none)) {
    const fs::path& path = entry.path();
    if (path.filename().string().starts_with(kWeights) && !path.has_extension()) return path;
  }
  return std::nullopt;
}

std::size_t RunPlace::RemoveStale(const fs::path& root) {
  FileLock root_lock(root / "lock");
  LockRoot(root, root_lock);
  return RemoveUnlocked(root);
}

}  // namespace starling::wire
