// Writes the journal of one term, segment after segment.
//
// Thread safety: one thread owns the writer; a JournalSync may run in any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/file_descriptor.h"
#include "learner/storage/journal.h"

namespace starling::learner {

// Segments of which a power cut may still take bytes or names.
class JournalSync {
 public:
  // Waits until the disk holds everything that was flushed when this was taken. Returns "", or why
  // it does not.
  std::string Run() const;

 private:
  friend class JournalWriter;
  std::filesystem::path directory_;  // "": its names are on the disk
  std::vector<std::shared_ptr<const FileDescriptor>> segments_;
};

class JournalWriter {
 public:
  struct Options {
    std::uint64_t segment_bytes = 64 << 20;  // a segment as long as this is followed by another one
  };
  // Begins the segments of `header.term` in the directory `journal`, behind the position
  // `header.after`. At nowhere the run begins: what is in the directory is removed. If the segment
  // there is missing, shorter, or damaged before that byte, this term begins after its last whole
  // record, or nowhere, and complete() is false. Throws std::system_error if a file cannot be
  // opened or the term has been used, and std::runtime_error if the journal belongs to another run
  // (seed or fingerprint).
  JournalWriter(std::filesystem::path journal, JournalHeader header, Options options);
  JournalWriter(std::filesystem::path journal, JournalHeader header)
      : JournalWriter(std::move(journal), header, Options{}) {}
  ~JournalWriter();  // flushes
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // Append copies into a buffer and writes it when it is full; Flush writes it. After the first
  // failed write (a full disk) the segment is cut after its last whole record, a GapRecord follows
  // if there is room, every later record is discarded, and complete() is false. Only the call that
  // met the failure returns false.
  bool Append(const JournalRecord& record);
  bool Flush();
  // Flushes. Returns what is left to wait for, so that another thread can wait for the disk.
  JournalSync TakeSync();

  // Returns the position after the last record. A checkpoint stores it.
  JournalPosition position() const {
    return {header_.term, header_.segment, written_ + buffer_.size()};
  }
  bool complete() const { return complete_; }
  // Whether a write has failed: records of this term are missing.
  bool broken() const { return broken_; }
  // Returns why it is not complete, as a sentence; "" while it is.
  const std::string& error() const { return error_; }

 private:
  JournalPosition WholeUpTo(JournalPosition after);
  bool OpenSegment();
  void SetIncomplete(std::string error);
  bool Fail(const char* what, int error);
  std::filesystem::path path() const;

  const std::filesystem::path journal_;
  const Options options_;
  JournalHeader header_;  // of the segment being written
  std::shared_ptr<const FileDescriptor> file_;
  std::string buffer_;         // whole records only
  std::uint64_t written_ = 0;  // bytes in the segment
  JournalSync unsynced_;
  bool complete_ = true;
  bool broken_ = false;  // a write failed: records are discarded
  std::string error_;
};

}  // namespace starling::learner
