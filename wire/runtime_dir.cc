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

[[noreturn]] void Fail(const fs::path& path, const std::string& what,
                       const std::string& advice = "set wire.runtime_dir") {
  throw UserError(fmt::format("runtime directory {}: {}; {}", path.string(), what, advice));
}

// A file and, after a successful Lock or TryLock, the flock on it.
class FileLock {
 public:
  // Opens the file, creating it if it does not exist. On failure error() is not 0.
  explicit FileLock(const fs::path& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)),
        error_(file_.get() < 0 ? errno : 0) {}

  int error() const { return error_; }
  int fd() const { return file_.get(); }
  bool Lock() { return Flock(LOCK_EX); }
  bool TryLock() { return Flock(LOCK_EX | LOCK_NB); }
  FileDescriptor Take() { return std::move(file_); }

 private:
  bool Flock(int operation) {
    const bool locked = TEMP_FAILURE_RETRY(flock(file_.get(), operation)) == 0;
    if (!locked) error_ = errno;
    return locked;
  }
  FileDescriptor file_;
  int error_;
};

// Returns the root's lock, which is held for a moment while a directory is created or removed.
FileLock LockRoot(const fs::path& root) {
  FileLock lock(root / "lock");
  if (lock.error() != 0 || !lock.Lock()) {
    Fail(root, fmt::format("cannot lock it: {}", ErrorText(lock.error())),
         "check its permissions or set wire.runtime_dir");
  }
  return lock;
}

// Creates a directory of mode 0700, whatever the umask, unless there is a file of that name.
// Returns false, with errno set, if it cannot.
bool TryCreatePrivateDirectory(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0) return errno == EEXIST;
  chmod(path.c_str(), 0700);
  return true;
}

void CreatePrivateDirectory(const fs::path& path) {
  if (!TryCreatePrivateDirectory(path)) {
    Fail(path, fmt::format("cannot be created: {}", ErrorText(errno)));
  }
}

bool IsWritableDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && access(path.c_str(), W_OK | X_OK) == 0;
}

// Returns the root in `configured`, or else in the first directory that takes one.
fs::path CreateRoot(const std::string& configured) {
  const std::string name = fmt::format("starling-{}", geteuid());
  if (!configured.empty()) {
    if (!IsWritableDirectory(configured)) {
      Fail(configured, "not a directory that we may write to", "create it or set wire.runtime_dir");
    }
    const fs::path root = fs::canonical(configured) / name;
    CreatePrivateDirectory(root);
    return root;
  }
  std::vector<fs::path> candidates = {"/dev/shm", "/tmp"};
  if (const char* xdg = std::getenv("XDG_RUNTIME_DIR"); xdg != nullptr && *xdg == '/') {
    candidates.insert(candidates.begin(), xdg);
  }
  for (const fs::path& base : candidates) {
    // The permissions of /proc, for one, promise root more than it keeps.
    if (IsWritableDirectory(base) && TryCreatePrivateDirectory(base / name)) return base / name;
  }
  Fail("", "none of $XDG_RUNTIME_DIR, /dev/shm and /tmp can be written to");
}

fs::path RunPath(const fs::path& root, const fs::path& run_dir) {
  fs::path canonical = fs::weakly_canonical(fs::absolute(run_dir)).lexically_normal();
  if (!canonical.has_filename()) canonical = canonical.parent_path();  // "run/" means "run"
  const std::string text = canonical.string();
  const std::uint64_t hash = XXH64(text.data(), text.size(), 0);
  return root / fmt::format("{:012x}", hash >> (64 - 4 * kNameDigits));
}

bool IsRunName(const std::string& name) {
  return name.size() == kNameDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// REQUIRES: the caller holds the root's lock.
std::size_t RemoveUnlocked(const fs::path& root) {
  std::size_t removed = 0;
  std::error_code error;
  std::vector<fs::path> dirs;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (IsRunName(entry.path().filename().string()) &&
        fs::is_directory(entry.symlink_status(error))) {
      dirs.push_back(entry.path());
    }
  }
  for (const fs::path& dir : dirs) {
    FileLock lock(dir / "lock");
    if (lock.error() != 0 || !lock.TryLock()) continue;
    fs::remove_all(dir, error);
    ++removed;
  }
  return removed;
}

}  // namespace

fs::path RuntimeRoot(const std::string& configured) {
  const fs::path root = CreateRoot(configured);
  // Every user can write to /tmp, so a directory of this name may belong to another user.
  struct stat status {};
  if (lstat(root.c_str(), &status) != 0) Fail(root, ErrorText(errno));
  if (!S_ISDIR(status.st_mode)) {
    Fail(root, S_ISLNK(status.st_mode) ? "is a symbolic link" : "is not a directory",
         "remove it or set wire.runtime_dir");
  }
  if (status.st_uid != geteuid()) Fail(root, fmt::format("belongs to user {}", status.st_uid));
  if ((status.st_mode & 0777) != 0700) {
    Fail(root, fmt::format("has mode {:04o}, so others may enter", status.st_mode & 0777),
         "chmod 0700 it or set wire.runtime_dir");
  }
  return root;
}

// The names of all runs have one length.
void RuntimeDir::CheckFits(const fs::path& root) {
  const std::size_t longest = (RunPath(root, "run") / "control").string().size();
  if (longest > kMaxSocketPath) {
    Fail(root,
         fmt::format("its sockets' paths would have {} bytes, {} are possible", longest,
                     kMaxSocketPath),
         "set wire.runtime_dir to a shorter path");
  }
}

RuntimeDir RuntimeDir::Create(const fs::path& root, const fs::path& run_dir) {
  // 1. Check that the paths of the sockets fit.
  CheckFits(root);
  const fs::path path = RunPath(root, run_dir);
  // 2. Under the root's lock, remove the directories of dead learners and create this one.
  const FileLock root_lock = LockRoot(root);
  RemoveUnlocked(root);
  CreatePrivateDirectory(path);
  // 3. Take its lock, unless a live learner holds it.
  FileLock lock(path / "lock");
  if (lock.error() != 0) Fail(path, ErrorText(lock.error()));
  if (!lock.TryLock()) {
    const std::string pid = ReadFile(path / "lock");
    throw UserError(fmt::format(
        "run directory {}: the learner with process id {} is still using it; end that process or "
        "choose another --run-dir",
        run_dir.string(), pid.empty() ? "unknown" : pid));
  }
  // 4. Write the process id for FindOwner.
  Clear(path);
  const std::string pid = std::to_string(getpid());
  if (ftruncate(lock.fd(), 0) != 0 ||
      pwrite(lock.fd(), pid.data(), pid.size(), 0) != std::ssize(pid)) {
    Fail(path, fmt::format("cannot be written: {}", ErrorText(errno)), "free space there");
  }
  return {root, path, lock.Take()};
}

RuntimeDir::RuntimeDir(fs::path root, fs::path path, FileDescriptor lock)
    : root_(std::move(root)),
      path_(std::move(path)),
      lock_(std::move(lock)),
      owner_pid_(getpid()) {}

void RuntimeDir::Clear(const fs::path& dir) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    if (entry.path().filename() != "lock") fs::remove_all(entry.path(), error);
  }
}

void RuntimeDir::Remove() {
  if (lock_.get() < 0 || owner_pid_ != getpid()) return;
  FileLock root_lock(root_ / "lock");
  if (root_lock.error() == 0) root_lock.Lock();
  std::error_code error;
  fs::remove_all(path_, error);
  lock_.Close();
}

std::string RuntimeDir::SocketEndpoint(const std::string& name) const {
  return "ipc://" + (path_ / name).string();
}

fs::path RuntimeDir::SnapshotPath(std::uint32_t term) const {
  return path_ / fmt::format("{}{}", kWeights, term);
}

fs::path RuntimeDir::SlicePath(const fs::path& snapshot, std::size_t shard) {
  const std::string name = snapshot.filename().string();
  return snapshot.parent_path() / fmt::format("slice-{}-of-{}", shard, name);
}

fs::path RuntimeDir::BuffersPath(std::uint32_t slot, std::uint32_t incarnation) const {
  return path_ / fmt::format("gradients-{}-{}", slot, incarnation);
}

void RuntimeDir::WriteKeys(const Credentials& keys) const {
  WriteFileAtomically(
      path_ / "keys",
      fmt::format("{}\n{}\n{}\n", keys.own.public_key, keys.own.secret_key, keys.server_key), 0600);
}

std::optional<Credentials> RuntimeDir::FindKeys(const fs::path& root, const fs::path& run_dir) {
  try {
    std::istringstream text(ReadFile(RunPath(root, run_dir) / "keys"));
    Credentials keys;
    if (text >> keys.own.public_key >> keys.own.secret_key >> keys.server_key) return keys;
  } catch (const std::system_error&) {  // there is no learner, or it has no keys
  }
  return std::nullopt;
}

void RuntimeDir::WriteEndpoint(const std::string& endpoint) const {
  WriteFileAtomically(path_ / "endpoint", endpoint);
}

RuntimeDir::Found RuntimeDir::Find(const fs::path& root, const fs::path& run_dir) {
  Found found{RunPath(root, run_dir) / "endpoint", std::nullopt};
  try {
    found.endpoint = ReadFile(found.endpoint_file);
  } catch (const std::system_error&) {  // not there yet
  }
  return found;
}

std::optional<int> RuntimeDir::FindOwner(const fs::path& root, const fs::path& run_dir) {
  const fs::path path = RunPath(root, run_dir) / "lock";
  std::error_code none;
  if (!fs::exists(path, none)) return std::nullopt;
  // Under the root's lock: Create must not find the directory locked by the TryLock below.
  const FileLock root_lock = LockRoot(root);
  FileLock lock(path);
  if (lock.error() != 0 || lock.TryLock()) return std::nullopt;
  int pid = 0;
  std::istringstream(ReadFile(path)) >> pid;
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

fs::path RuntimeDir::StatusPath(const fs::path& root, const fs::path& run_dir) {
  return RunPath(root, run_dir) / "status";
}

// There is at most one: Create removes the files of a killed learner.
std::optional<fs::path> RuntimeDir::FindSnapshot(const fs::path& root, const fs::path& run_dir) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(RunPath(root, run_dir), none)) {
    const fs::path& path = entry.path();
    if (path.filename().string().starts_with(kWeights) && !path.has_extension()) return path;
  }
  return std::nullopt;
}

std::size_t RuntimeDir::RemoveStale(const fs::path& root) {
  const FileLock root_lock = LockRoot(root);
  return RemoveUnlocked(root);
}

}  // namespace starling::wire
