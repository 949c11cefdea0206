// The weights in shared memory: one learner process writes versions, and any number of processes on
// the same host copy the newest one.
//
// Three slots, or more to keep older versions; version v goes into slot v % slots. Each slot is a
// sequence lock: the writers store `begin` = v + 1, the data, and at last `end` = v + 1. A reader
// reads `end`, copies, and then reads `begin`: if both are equal it has copied one whole version.
// An overtaken reader copies old and new words, and discards them (StoreWords in snapshot.cc).
//
// Thread safety: any thread of the writing process may call Begin, Write and Publish under the
// rules below. A SnapshotReader belongs to one thread; there may be any number of readers.
// Invariants: Latest() never decreases. The version it names is complete. A reader never blocks a
// writer, so a killed reader pins nothing; a killed writer leaves Latest() on a complete slot.
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
  // `floats` is a multiple of 16, and slots is kSnapshotSlots or more (CHECKed). The file, mode
  // 0600, appears at `path` when it is ready to be read. It replaces an old file of that name,
  // whose readers keep their mapping. With an empty path the memory is anonymous: only this process
  // and its forks can read it. Throws UserError naming the path if it cannot be created or there is
  // not enough memory (a full /dev/shm).
  SnapshotWriter(const std::filesystem::path& path, std::size_t floats, std::uint64_t fingerprint,
                 std::uint32_t term, std::size_t slots = kSnapshotSlots);
  // The same, but falls back to anonymous memory, with a warning, if there is no room; actors then
  // fetch the weights. For a learner that restarts while actors still hold its old memory.
  static SnapshotWriter SharedIfThereIsRoom(const std::filesystem::path& path, std::size_t floats,
                                            std::uint64_t fingerprint, std::uint32_t term,
                                            std::size_t slots = kSnapshotSlots);
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  std::size_t floats() const;
  std::uint32_t term() const;
  bool shared() const { return !path_.empty(); }

  // To write a version, every writing thread calls Begin(v) and then Write(v, ...) for its own
  // part; the parts do not overlap. When all are done, one thread calls Publish. REQUIRES:
  //  - Publish(v) happens after every Write(v) (an acquire-release counter of finished threads).
  //  - Begin(v) happens after Publish(v - 2): at most kSnapshotSlots - 1 versions are being written
  //    at any time, so the newest complete one is never touched. The first version is arbitrary.
  //    If only one is written at a time, versions may be left out: Begin(v) after Publish(v - 1)
  //    or, if v - 1 is left out, Publish(v - 2).
  // Begin CHECKs that the slot has no other version that was begun and not published.
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
  // Throws std::runtime_error naming the path and the defect: missing, too small, of another
  // format, size or fingerprint.
  SnapshotReader(const std::filesystem::path& path, std::size_t floats, std::uint64_t fingerprint);
  // A reader in the writer's process; it may outlive the writer.
  explicit SnapshotReader(const SnapshotWriter& writer);
  ~SnapshotReader();
  SnapshotReader(SnapshotReader&&) noexcept;
  SnapshotReader& operator=(SnapshotReader&&) noexcept;

  std::size_t floats() const;
  std::uint32_t term() const;

  // Returns the newest complete version, or nullopt if there is none yet. nullopt is less than any
  // version, so `Latest() >= wanted` is a correct test.
  std::optional<std::uint64_t> Latest() const;

  // Copies the newest complete version into `out` (floats() floats, CHECKed) if it is at least
  // `at_least`. Returns false, with `out` in an unspecified state, if there is no such version yet,
  // or if writers overtook each of kSnapshotTries copies.
  bool Read(std::uint64_t at_least, std::span<float> out, SnapshotMeta& meta);
  // Copies exactly `version`. Returns false, with `out` in an unspecified state, if it is not
  // complete yet or not there any more: `slots` versions later.
  bool ReadVersion(std::uint64_t version, std::span<float> out, SnapshotMeta& meta);
  // Like Read, but without the weights.
  std::optional<SnapshotMeta> Peek();

 private:
  // Read, or Peek if `out` is empty.
  bool Copy(std::uint64_t at_least, std::span<float> out, SnapshotMeta& meta);
  // Copies what is in the slot of `version`. Returns false if it was written meanwhile.
  bool CopySlot(std::uint64_t version, std::span<float> out, SnapshotMeta& meta);

  std::shared_ptr<SnapshotMapping> mapping_;
};

inline constexpr int kSnapshotTries = 64;

}  // namespace starling::wire
