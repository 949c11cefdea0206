// Reads a journal in bounded memory: one segment, or the line of segments that is the run.
//
// Thread safety: none; one thread reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/file_descriptor.h"
#include "learner/storage/journal.h"

namespace starling::learner {

// The file is not a journal, has another format version, or has a damaged header.
class JournalUnreadable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Why a reader has no next record: kEnd (all read), kTorn (the file ends inside a record: its
// writer was killed, or still writes), kDamaged (a whole record with a wrong checksum, kind or
// field, or a segment that ends too early).
enum class JournalEnding : std::uint8_t { kEnd, kTorn, kDamaged };

// One segment, or the one file of an older program.
class SegmentReader {
 public:
  // Throws std::system_error if the file cannot be read, and JournalUnreadable with a sentence that
  // names the file.
  explicit SegmentReader(const std::filesystem::path& path);

  const JournalHeader& header() const { return header_; }

  // Returns the next record, or nullopt at the end, at a torn tail and at damage. Throws
  // std::system_error if the disk fails.
  std::optional<JournalRecord> Next();

  // Returns the byte after the last record returned; before the first, the byte after the header.
  std::uint64_t offset() const { return offset_; }
  // Why Next returned nullopt.
  JournalEnding ending() const { return ending_; }
  // Goes on at this byte. REQUIRES: Next was not called; a record begins there, or the file ends.
  void Skip(std::uint64_t offset);

 private:
  bool Fill(std::size_t bytes);

  std::string path_;
  FileDescriptor file_;
  JournalHeader header_;
  std::string buffer_;     // read, from the last record returned on
  std::size_t begin_ = 0;  // of what is not returned yet, in buffer_
  std::uint64_t offset_ = 0;
  JournalEnding ending_ = JournalEnding::kEnd;
};

// ---- the directory

// Returns "t0002-s000003".
std::string SegmentName(std::uint32_t term, std::uint32_t segment);

struct Segment {
  std::uint32_t term = 0, segment = 0;
  std::filesystem::path path;
};
// Returns the segments in `journal`, in order of term and number; the file itself if it is one of
// an older program; none if it does not exist.
std::vector<Segment> ListSegments(const std::filesystem::path& journal);

// A segment with the part of it that belongs to the run.
struct LineSegment {
  Segment segment;
  JournalHeader header;
  std::optional<std::uint64_t> end;  // byte where the run goes on in another one; nullopt: the last
};
// Returns the line of the run, the oldest segment first: from the newest segment with a header back
// to the one that follows none, or whose predecessor is missing or damaged. Throws as SegmentReader
// if there is no segment with a header.
std::vector<LineSegment> LineOf(const std::filesystem::path& journal);
// Returns whether the line can be read from `position` on.
bool Covers(const std::vector<LineSegment>& line, JournalPosition position);

// The records of a run, in order, without those that a restarted learner left behind.
class JournalReader {
 public:
  // `journal`: RUN/journal. Begins behind `from`; nowhere: with the oldest record. Throws as
  // SegmentReader, and JournalUnreadable if the line does not cover `from`.
  explicit JournalReader(const std::filesystem::path& journal, JournalPosition from = {});

  // Of the segment in which it began. From nowhere that is the oldest, whose `after` is somewhere
  // if earlier ones are missing.
  const JournalHeader& header() const { return header_; }

  // As SegmentReader::Next.
  std::optional<JournalRecord> Next();
  JournalEnding ending() const { return ending_; }
  // Returns the position after the last record returned, and the file that holds it.
  JournalPosition position() const;
  const std::filesystem::path& path() const { return line_[index_].segment.path; }

 private:
  std::vector<LineSegment> line_;
  std::size_t index_ = 0;  // of the segment being read
  JournalHeader header_;
  std::optional<SegmentReader> segment_;
  JournalEnding ending_ = JournalEnding::kEnd;
};

// ---- behind a checkpoint

// The updates that a journal holds behind a position, up to the first gap.
struct JournalTail {
  std::uint64_t updates = 0;
  std::uint64_t version = 0, steps = 0;  // after the last of them
  JournalPosition end{};                 // behind its record
  bool damaged = false;                  // more records followed, which cannot be read
  std::string where{};                   // the damage: "RUN/journal/t0001-s000000, byte 1234"
};
// "3 updates (60 steps)": those of `tail`, behind a checkpoint of `steps` steps.
std::string Counted(const JournalTail& tail, std::uint64_t steps);
// Throws as JournalReader.
JournalTail TailOf(const std::filesystem::path& journal, JournalPosition from);

}  // namespace starling::learner
