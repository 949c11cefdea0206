#include "wire/snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling::wire {
namespace {

constexpr std::uint64_t kSnapshotMagic = 0x31304E534C525453;  // the bytes "STRLSN01"
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kDataOffset = 4096;
constexpr std::size_t kBlock = 16;  // floats: the unit of lanes and parameters

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8,
              "the words are shared between processes");

// Counters hold version + 1, so that 0 is "none". Each slot has a cache line of its own.
struct alignas(kCacheLine) SlotControl {
  Word begin{0}, end{0};
  Word steps{0}, entropy_bits{0};
};

// The first page of the file; the slots' data follow at kDataOffset, all in native byte order.
struct FileControl {
  std::uint64_t magic = kSnapshotMagic;
  std::uint64_t floats = 0;
  std::uint64_t fingerprint = 0;
  std::uint32_t term = 0;
  std::uint32_t slots = kSnapshotSlots;
  alignas(kCacheLine) Word latest{0};
  SlotControl slot[kSnapshotSlots];
};
static_assert(sizeof(FileControl) <= kDataOffset);

std::size_t FileBytes(std::size_t floats) {
  return kDataOffset + kSnapshotSlots * floats * sizeof(float);
}

std::string ErrorText(int error) { return std::generic_category().message(error); }

struct FileDescriptor {
  explicit FileDescriptor(int number) : fd(number) {}
  ~FileDescriptor() {
    if (fd >= 0) close(fd);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  const int fd;
};

// The reader loads word by word, atomically. The writer's stores are ordered against it by Begin's
// fence and Publish's `end`, and what it tears a reader throws away, so that they need not be atomic
// in the machine: plain vector stores, 0.42 ns per weight through a lane where words one by one took
// 0.65. C++ has no such store; a checker of its rules is shown the words.
void StoreWords(Word* to, const float* from, std::size_t words) {
#ifdef __SANITIZE_THREAD__
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word;
    std::memcpy(&word, from + 2 * i, sizeof word);
    to[i].store(word, std::memory_order_relaxed);
  }
#else
  std::memcpy(static_cast<void*>(to), from, words * sizeof *to);
#endif
}

}  // namespace

// A mapped file or anonymous memory, unmapped with its last user.
class SnapshotMapping {
 public:
  // `fd` -1: anonymous. Null if it cannot be mapped; errno says why.
  static std::shared_ptr<SnapshotMapping> Map(int fd, std::size_t bytes, bool writable) {
    // Populated now, so that the first copies do not pay for page faults.
    const int flags = MAP_SHARED | MAP_POPULATE | (fd < 0 ? MAP_ANONYMOUS : 0);
    void* base = mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), flags, fd, 0);
    if (base == MAP_FAILED) return nullptr;
    return std::shared_ptr<SnapshotMapping>(new SnapshotMapping(base, bytes));
  }
  ~SnapshotMapping() { munmap(base_, bytes_); }
  SnapshotMapping(const SnapshotMapping&) = delete;
  SnapshotMapping& operator=(const SnapshotMapping&) = delete;

  void* base() const { return base_; }
  FileControl& control() const { return *static_cast<FileControl*>(base_); }
  SlotControl& slot(std::uint64_t version) const {
    return control().slot[version % kSnapshotSlots];
  }
  // The data of the slot of `version`, floats / 2 words.
  Word* words(std::uint64_t version) const {
    const std::size_t offset =
        kDataOffset + (version % kSnapshotSlots) * control().floats * sizeof(float);
    return reinterpret_cast<Word*>(static_cast<std::byte*>(base_) + offset);
  }

 private:
  SnapshotMapping(void* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  void* base_;
  std::size_t bytes_;
};

namespace {

[[noreturn]] void ThrowCreate(const std::filesystem::path& path, std::size_t bytes, int error) {
  throw UserError(fmt::format(
      "{}: cannot reserve {} KiB of shared memory for the weights: {}; free space there or set "
      "wire.runtime_dir",
      path.string(), (bytes + 1023) / 1024, ErrorText(error)));
}

// A file of exactly `bytes` whose every page exists: a full file system is an error here, where a
// sparse file would kill the process at the first write.
std::shared_ptr<SnapshotMapping> CreateFile(const std::filesystem::path& path,
                                            const std::string& temporary, std::size_t bytes) {
  unlink(temporary.c_str());
  const FileDescriptor file(
      open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.fd < 0) ThrowCreate(path, bytes, errno);
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file.fd, 0, static_cast<off_t>(bytes));
  std::shared_ptr<SnapshotMapping> mapping;
  if (error == 0) {
    mapping = SnapshotMapping::Map(file.fd, bytes, true);
    if (!mapping) error = errno;
  }
  if (!mapping) {
    unlink(temporary.c_str());
    ThrowCreate(path, bytes, error);
  }
  return mapping;
}

}  // namespace

SnapshotWriter::SnapshotWriter(const std::filesystem::path& path, std::size_t floats,
                               std::uint64_t fingerprint, std::uint32_t term)
    : path_(path) {
  CHECK(floats > 0 && floats % kBlock == 0, "{} floats", floats);
  const std::size_t bytes = FileBytes(floats);
  const std::string temporary = path.string() + "." + std::to_string(getpid()) + ".tmp";
  if (path.empty()) {
    mapping_ = SnapshotMapping::Map(-1, bytes, true);
    if (!mapping_) ThrowCreate("anonymous memory", bytes, errno);
  } else {
    mapping_ = CreateFile(path, temporary, bytes);
  }
  auto* control = new (mapping_->base()) FileControl();
  control->floats = floats;
  control->fingerprint = fingerprint;
  control->term = term;
  // Under its own name only now: who finds it, finds it ready.
  if (!path.empty() && rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    ThrowCreate(path, bytes, error);
  }
}

SnapshotWriter::~SnapshotWriter() = default;

std::size_t SnapshotWriter::floats() const { return mapping_->control().floats; }
std::uint32_t SnapshotWriter::term() const { return mapping_->control().term; }

void SnapshotWriter::Begin(std::uint64_t version) {
  SlotControl& slot = mapping_->slot(version);
  // Relaxed: the caller's ordering (Publish(version - 2) happens before) makes both visible.
  const std::uint64_t begun = slot.begin.load(std::memory_order_relaxed);
  const std::uint64_t ended = slot.end.load(std::memory_order_relaxed);
  CHECK(begun == version + 1 || (begun == ended && begun <= version),
        "version {} into a slot of begin {}, end {}", version, begun, ended);
  slot.begin.store(version + 1, std::memory_order_relaxed);
  // Pairs with the acquire fence in Read: whoever copied a word written after this fence also sees
  // `begin`, and knows that its copy is torn.
  std::atomic_thread_fence(std::memory_order_release);
}

void SnapshotWriter::Write(std::uint64_t version, std::size_t offset,
                           std::span<const float> values) {
  CHECK(offset % kBlock == 0 && values.size() % kBlock == 0 && offset <= floats() &&
            values.size() <= floats() - offset,
        "offset {}, {} values, {} floats", offset, values.size(), floats());
  Word* to = mapping_->words(version) + offset / 2;
  StoreWords(to, values.data(), values.size() / 2);
}

void SnapshotWriter::Publish(const SnapshotMeta& meta) {
  CHECK(meta.term == term(), "term {} published into a snapshot of term {}", meta.term, term());
  SlotControl& slot = mapping_->slot(meta.version);
  const std::uint64_t mark = meta.version + 1;
  CHECK(slot.begin.load(std::memory_order_relaxed) == mark, "version {} was not begun",
        meta.version);
  slot.steps.store(meta.steps, std::memory_order_relaxed);
  slot.entropy_bits.store(std::bit_cast<std::uint64_t>(meta.entropy), std::memory_order_relaxed);
  slot.end.store(mark, std::memory_order_release);  // pairs with Read's load of `end`
  // Pairs with the loads of `latest` in Latest and Read. It only grows, whoever comes last.
  Word& latest = mapping_->control().latest;
  std::uint64_t seen = latest.load(std::memory_order_relaxed);
  while (seen < mark && !latest.compare_exchange_weak(seen, mark, std::memory_order_release,
                                                      std::memory_order_relaxed)) {
  }
}

void SnapshotWriter::Remove() {
  if (!path_.empty()) unlink(path_.c_str());
}

SnapshotReader::SnapshotReader(const std::filesystem::path& path, std::size_t floats,
                               std::uint64_t fingerprint) {
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error(fmt::format("snapshot {}: {}", path.string(), what));
  };
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd < 0) fail(ErrorText(errno));
  struct stat status {};
  if (fstat(file.fd, &status) != 0) fail(ErrorText(errno));
  if (!S_ISREG(status.st_mode)) fail("not a file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < kDataOffset) fail(fmt::format("{} bytes are too few", size));
  mapping_ = SnapshotMapping::Map(file.fd, size, false);
  if (!mapping_) fail(ErrorText(errno));
  const FileControl& control = mapping_->control();
  if (control.magic != kSnapshotMagic || control.slots != kSnapshotSlots) fail("another format");
  if (control.floats != floats) fail(fmt::format("{} floats, not {}", control.floats, floats));
  if (control.fingerprint != fingerprint) {
    fail(fmt::format("of the net {:016x}, not {:016x}", control.fingerprint, fingerprint));
  }
  if (size != FileBytes(floats)) fail(fmt::format("{} bytes, not {}", size, FileBytes(floats)));
}

SnapshotReader::SnapshotReader(const SnapshotWriter& writer) : mapping_(writer.mapping_) {}
SnapshotReader::~SnapshotReader() = default;
SnapshotReader::SnapshotReader(SnapshotReader&&) noexcept = default;
SnapshotReader& SnapshotReader::operator=(SnapshotReader&&) noexcept = default;

std::size_t SnapshotReader::floats() const { return mapping_->control().floats; }
std::uint32_t SnapshotReader::term() const { return mapping_->control().term; }

std::optional<std::uint64_t> SnapshotReader::Latest() const {
  // Pairs with Publish's exchange.
  const std::uint64_t mark = mapping_->control().latest.load(std::memory_order_acquire);
  return mark == 0 ? std::nullopt : std::optional(mark - 1);
}

bool SnapshotReader::Read(std::uint64_t at_least, std::span<float> out, SnapshotMeta& meta) {
  CHECK(out.size() == floats(), "{} floats into room for {}", floats(), out.size());
  for (int i = 0; i < kSnapshotTries; ++i) {
    const std::optional<std::uint64_t> latest = Latest();
    if (!latest || *latest < at_least) return false;
    const SlotControl& slot = mapping_->slot(*latest);
    const std::uint64_t end = slot.end.load(std::memory_order_acquire);  // pairs with Publish
    const Word* from = mapping_->words(*latest);
    for (std::size_t w = 0; w < out.size() / 2; ++w) {
      const std::uint64_t word =
          from[w].load(std::memory_order_relaxed);  // judged by `begin` below
      std::memcpy(out.data() + 2 * w, &word, sizeof word);
    }
    meta.steps = slot.steps.load(std::memory_order_relaxed);
    meta.entropy = std::bit_cast<double>(slot.entropy_bits.load(std::memory_order_relaxed));
    // Pairs with the release fence in Begin.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.begin.load(std::memory_order_relaxed) == end) {
      meta.version = end - 1;  // *latest, or a newer one that came into the same slot meanwhile
      meta.term = term();
      return true;
    }
  }
  return false;
}

}  // namespace starling::wire
