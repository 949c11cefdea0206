// The weights in shared memory: one learner process writes versions, any number of processes on the
// same host copy the newest one out.
//
// Three slots; version v goes into slot v % 3. Each slot is a sequence lock: the writers store
// `begin` = v, the data, and at last `end` = v; a reader that finds begin == end after its copy has
// copied one whole version. Data words are relaxed 64-bit atomics, so an overtaken reader reads old
// or new words, never an undefined race.
//
// Thread safety: Begin, Write and Publish may be called from any thread of the writing process
// under the rules below. A SnapshotReader belongs to one thread; there may be any number of them
// anywhere. Invariants: Latest() never goes back. The version it names is complete. A reader never
// blocks a writer, so a killed reader pins nothing; a killed writer leaves Latest() on a complete
// slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

namespace starling::wire {

inline constexpr std::size_t kSnapshotSlots = 3;

struct SnapshotMeta {
  std::uint32_t term = 0;
  std::uint64_t version = 0;
  std::uint64_t steps = 0;
  double entropy = 0;

  friend bool operator==(const SnapshotMeta&, const SnapshotMeta&) = default;
};

class SnapshotMapping;

class SnapshotWriter {
 public:
  // `floats` is a multiple of 16 (CHECKed). `path` appears, mode 0600, when it is ready to be read;
  // an old file of that name is replaced, its readers keep what they have mapped. An empty path
  // takes anonymous memory: readers in this process, or in forks of it, only. Throws UserError
  // naming the path if it cannot be created or the memory is not there (a full /dev/shm).
  SnapshotWriter(const std::filesystem::path& path, std::size_t floats, std::uint64_t fingerprint,
                 std::uint32_t term);
  // The same, but with anonymous memory and a warning if there is no room: weights have to be fetched
  // then. For a learner that comes back while its actors still hold the memory of the last one.
  static SnapshotWriter SharedIfThereIsRoom(const std::filesystem::path& path, std::size_t floats,
                                            std::uint64_t fingerprint, std::uint32_t term);
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  std::size_t floats() const;
  std::uint32_t term() const;
  bool shared() const { return !path_.empty(); }

  // One version: every writing thread calls Begin(v) and then Write(v, ...) for its own part, parts
  // not overlapping; when all are done one thread calls Publish. The caller sees to it that
  //  - Publish(v) happens after every Write(v) (an acquire-release counter of finished threads), and
  //  - Begin(v) happens after Publish(v - 2): at most kSnapshotSlots - 1 versions are being written
  //    at any time, so that the newest complete one is never touched. The first version is any.
  //    Versions may be left out where one is written at a time: Begin(v) after Publish(v - 1) or, with
  //    v - 1 left out, Publish(v - 2).
  // Begin CHECKs that the slot holds no version that was begun and not published.
  void Begin(std::uint64_t version);
  // offset and values.size() are multiples of 16 floats (CHECKed).
  void Write(std::uint64_t version, std::size_t offset, std::span<const float> values);
  // meta.term is the writer's (CHECKed).
  void Publish(const SnapshotMeta& meta);

  // Unlinks the file; the memory stays until it is unmapped. The destructor does not unlink.
  void Remove();

 private:
  friend class SnapshotReader;
  std::filesystem::path path_;
  std::shared_ptr<SnapshotMapping> mapping_;
};

class SnapshotReader {
 public:
  // Throws std::runtime_error naming the path and what is wrong: missing, too small, of another
  // format, size or fingerprint.
  SnapshotReader(const std::filesystem::path& path, std::size_t floats, std::uint64_t fingerprint);
  // A reader in the writer's process; it may outlive the writer.
  explicit SnapshotReader(const SnapshotWriter& writer);
  ~SnapshotReader();
  SnapshotReader(SnapshotReader&&) noexcept;
  SnapshotReader& operator=(SnapshotReader&&) noexcept;

  std::size_t floats() const;
  std::uint32_t term() const;

  // The newest complete version; nothing if there is none yet (nothing compares less than any
  // version, so `Latest() >= wanted` says what it seems to say).
  std::optional<std::uint64_t> Latest() const;

  // Copies the newest complete version into `out` (floats() floats, CHECKed) if it is at least
  // `at_least`. False, with `out` in an unspecified state, if it is not there yet, or if writers
  // overtook every one of kSnapshotTries copies.
  bool Read(std::uint64_t at_least, std::span<float> out, SnapshotMeta& meta);
  // What belongs to the newest complete version, without its weights; nothing where Read says false.
  std::optional<SnapshotMeta> Peek();

 private:
  // Read, or Peek if `out` is empty.
  bool Copy(std::uint64_t at_least, std::span<float> out, SnapshotMeta& meta);

  std::shared_ptr<SnapshotMapping> mapping_;
};

inline constexpr int kSnapshotTries = 64;

}  // namespace starling::wire
