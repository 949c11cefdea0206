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
  // Waits until the disk holds everything that was flushed when this was taken. Throws
  // std::system_error.
  void Run() const;

 private:
  friend class JournalWriter;
  std::filesystem::path directory_;  // "": its names are on the disk
  std::vector<std::shared_ptr<const FileDescriptor>> segments_;
};

class JournalWriter {
 public:
  struct Options {
    std::uint64_t segment_bytes = 64 << 20;  // a segment as long as this is followed by another one
    bool discard = false;  // a replica's: another process writes it, this one opens no file
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

  // Append copies into a buffer and writes it when it is full; Flush writes it. After a failed
  // write (a full disk) the segment is cut after its last whole record, a GapRecord follows if
  // there is room, every record up to GoOn is discarded, and complete() is false. Only the call
  // that met the failure returns false.
  bool Append(const JournalRecord& record);
  bool Flush();
  // After a failed write: goes on in a new segment, with a cut. `from` and `entropy`: the cut's.
  // Returns false if there is still no room. REQUIRES: broken().
  bool GoOn(const TermRecord& from, double entropy);
  // Flushes. Returns what is left to wait for, so that another thread can wait for the disk.
  JournalSync TakeSync();

  // Returns the position after the last record. A checkpoint stores it.
  JournalPosition position() const {
    const std::uint64_t offset = written_ + buffer_.size();
    return offset > 0 ? JournalPosition{header_.term, header_.segment, offset} : header_.after;
  }
  // Whether no record of the run is missing.
  bool complete() const { return complete_; }
  // Whether a write has failed: records are discarded.
  bool broken() const { return broken_; }
  // Returns how many writes have failed.
  std::uint64_t gaps() const { return gaps_; }
  // Returns the newest reason why it is not complete, as a sentence; "" while it is.
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
  std::uint64_t written_ = 0;  // bytes in the segment; 0: there is none
  JournalSync unsynced_;
  bool complete_ = true;
  bool broken_ = false;  // a write failed: records are discarded
  std::uint64_t gaps_ = 0;
  std::string error_;
};

}  // namespace starling::learner
