#include "wire/snapshot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "core/log.h"
#include "wire/shared_memory.h"

namespace starling::wire {
namespace {

constexpr std::uint64_t kSnapshotMagic = 0x31304E534C525453;  // the bytes "STRLSN01"
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kBlock = 16;  // floats: the unit of lanes and parameters

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8,
              "the words are shared between processes");

// Counters contain version + 1; 0 is "none". Each slot has its own cache line.
struct alignas(kCacheLine) SlotControl {
  Word begin{0}, end{0};
  Word steps{0}, entropy_bits{0};
};

// At the beginning of the file. A SlotControl for each slot follows, and, from the next page on,
// the slots' data, all in native byte order.
struct FileControl {
  std::uint64_t magic = kSnapshotMagic;
  std::uint64_t floats = 0;
  std::uint64_t fingerprint = 0;
  std::uint32_t term = 0;
  std::uint32_t slots = kSnapshotSlots;
  alignas(kCacheLine) Word latest{0};
};

std::size_t DataOffset(std::size_t slots) {
  const std::size_t control = sizeof(FileControl) + slots * sizeof(SlotControl);
  return (control + kPage - 1) / kPage * kPage;
}
std::size_t FileBytes(std::size_t floats, std::size_t slots) {
  return DataOffset(slots) + slots * floats * sizeof(float);
}

// Fences, `begin` and `end` order the writers and readers, and a reader discards a torn copy, so
// the accesses need not be atomic in the machine: plain vector loads and stores take 0.42 ns per
// weight through a lane, single words took 0.65. C++ has no such access, so ThreadSanitizer gets
// the words.
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

void LoadWords(const Word* from, std::span<float> to) {
  if (to.empty()) return;
#ifdef __SANITIZE_THREAD__
  for (std::size_t i = 0; i < to.size() / 2; ++i) {
    const std::uint64_t word = from[i].load(std::memory_order_relaxed);
    std::memcpy(to.data() + 2 * i, &word, sizeof word);
  }
#else
  std::memcpy(to.data(), static_cast<const void*>(from), to.size_bytes());
#endif
}

}  // namespace

// The layout of the shared memory.
class SnapshotMapping {
 public:
  SnapshotMapping(std::shared_ptr<SharedMemory> memory, std::size_t slots)
      : memory_(std::move(memory)), slots_(slots) {}

  FileControl& control() const { return *reinterpret_cast<FileControl*>(memory_->data()); }
  SlotControl& slot(std::uint64_t version) const {
    const std::size_t offset = sizeof(FileControl) + version % slots_ * sizeof(SlotControl);
    return *reinterpret_cast<SlotControl*>(memory_->data() + offset);
  }
  // The data of the slot of `version`: floats / 2 words.
  Word* words(std::uint64_t version) const {
    const std::size_t offset =
        DataOffset(slots_) + version % slots_ * control().floats * sizeof(float);
    return reinterpret_cast<Word*>(memory_->data() + offset);
  }

 private:
  std::shared_ptr<SharedMemory> memory_;
  const std::size_t slots_;
};

SnapshotWriter::SnapshotWriter(const std::filesystem::path& path, std::size_t floats,
                               std::uint64_t fingerprint, std::uint32_t term, std::size_t slots)
    : path_(path) {
  CHECK(floats > 0 && floats % kBlock == 0, "{} floats", floats);
  CHECK(slots >= kSnapshotSlots, "{} slots", slots);
  const std::string use = "the weights";
  const std::string temporary = path.string() + "." + std::to_string(getpid()) + ".tmp";
  if (!path.empty()) unlink(temporary.c_str());
  const std::size_t bytes = FileBytes(floats, slots);
  const auto memory = path.empty() ? SharedMemory::Anonymous(bytes, use)
                                   : SharedMemory::Create(temporary, bytes, use);
  auto* control = new (memory->data()) FileControl();
  control->floats = floats;
  control->fingerprint = fingerprint;
  control->term = term;
  control->slots = static_cast<std::uint32_t>(slots);
  for (std::size_t i = 0; i < slots; ++i) {
    new (memory->data() + sizeof(FileControl) + i * sizeof(SlotControl)) SlotControl();
  }
  mapping_ = std::make_shared<SnapshotMapping>(memory, slots);
  // The rename comes last: a reader that finds the file finds it complete.
  if (path.empty() || rename(temporary.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  unlink(temporary.c_str());
  throw UserError(fmt::format("{}: cannot be made: {}", path.string(), ErrorText(error)));
}

SnapshotWriter SnapshotWriter::SharedIfThereIsRoom(const std::filesystem::path& path,
                                                   std::size_t floats, std::uint64_t fingerprint,
                                                   std::uint32_t term, std::size_t slots) {
  try {
    return {path, floats, fingerprint, term, slots};
  } catch (const UserError& error) {
    LogWarn("{}: weights and gradients go through sockets instead", error.what());
    return {{}, floats, fingerprint, term, slots};
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
  // Pairs with the acquire fence in Copy: a reader that copied a word written after this fence also
  // sees `begin`, and knows that its copy is torn.
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
  slot.end.store(mark, std::memory_order_release);  // pairs with the load of `end` in Copy
  // Pairs with the load in Latest. The loop keeps the largest version if two threads publish at
  // once.
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
  const auto memory = SharedMemory::Open(path, SharedMemory::Access::kRead);
  if (memory->size() < kPage) fail(fmt::format("{} bytes are too few", memory->size()));
  const auto& control = *reinterpret_cast<const FileControl*>(memory->data());
  const std::size_t slots = control.slots;
  if (control.magic != kSnapshotMagic || slots < kSnapshotSlots) fail("another format");
  if (control.floats != floats) fail(fmt::format("{} floats, not {}", control.floats, floats));
  if (control.fingerprint != fingerprint) {
    fail(fmt::format("of the net {:016x}, not {:016x}", control.fingerprint, fingerprint));
  }
  if (memory->size() != FileBytes(floats, slots)) {
    fail(fmt::format("{} bytes, not {}", memory->size(), FileBytes(floats, slots)));
  }
  mapping_ = std::make_shared<SnapshotMapping>(memory, slots);
}

SnapshotReader::SnapshotReader(const SnapshotWriter& writer) : mapping_(writer.mapping_) {}
SnapshotReader::~SnapshotReader() = default;
SnapshotReader::SnapshotReader(SnapshotReader&&) noexcept = default;
SnapshotReader& SnapshotReader::operator=(SnapshotReader&&) noexcept = default;

std::size_t SnapshotReader::floats() const { return mapping_->control().floats; }
std::uint32_t SnapshotReader::term() const { return mapping_->control().term; }

std::optional<std::uint64_t> SnapshotReader::Latest() const {
  // Pairs with the exchange in Publish.
  const std::uint64_t mark = mapping_->control().latest.load(std::memory_order_acquire);
  return mark == 0 ? std::nullopt : std::optional(mark - 1);
}

bool SnapshotReader::Read(std::uint64_t at_least, std::span<float> out, SnapshotMeta& meta) {
  CHECK(out.size() == floats(), "{} floats into room for {}", floats(), out.size());
  return Copy(at_least, out, meta);
}

std::optional<SnapshotMeta> SnapshotReader::Peek() {
  SnapshotMeta meta;
  return Copy(0, {}, meta) ? std::optional(meta) : std::nullopt;
}

bool SnapshotReader::Copy(std::uint64_t at_least, std::span<float> out, SnapshotMeta& meta) {
  for (int i = 0; i < kSnapshotTries; ++i) {
    const std::optional<std::uint64_t> latest = Latest();
    if (!latest || *latest < at_least) return false;
    if (CopySlot(*latest, out, meta)) return true;  // or a newer version in the same slot
  }
  return false;
}

bool SnapshotReader::ReadVersion(std::uint64_t version, std::span<float> out, SnapshotMeta& meta) {
  CHECK(out.size() == floats(), "{} floats into room for {}", floats(), out.size());
  return CopySlot(version, out, meta) && meta.version == version;
}

bool SnapshotReader::CopySlot(std::uint64_t version, std::span<float> out, SnapshotMeta& meta) {
  const SlotControl& slot = mapping_->slot(version);
  const std::uint64_t end = slot.end.load(std::memory_order_acquire);  // pairs with Publish
  LoadWords(mapping_->words(version), out);
  meta.steps = slot.steps.load(std::memory_order_relaxed);
  meta.entropy = std::bit_cast<double>(slot.entropy_bits.load(std::memory_order_relaxed));
  // Pairs with the release fence in Begin.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (end == 0 || slot.begin.load(std::memory_order_relaxed) != end) return false;
  meta.version = end - 1;
  meta.term = term();
  return true;
}

}  // namespace starling::wire
