#include "learner/storage/journal_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/room.h"
#include "learner/storage/journal_reader.h"

namespace starling::learner {
namespace {

constexpr std::size_t kBufferSize = 64 * 1024;

// A run of an older program has one file RUN/journal: it becomes a segment of the directory. Killed
// in between, the next start goes on.
void AdoptOldJournal(const std::filesystem::path& journal) {
  const std::filesystem::path moved = journal.string() + ".format-1";
  if (std::filesystem::is_regular_file(journal)) std::filesystem::rename(journal, moved);
  CreateDirectories(journal);
  if (std::filesystem::exists(moved)) {
    std::filesystem::rename(moved, journal / SegmentName(0, 0));
  }
}

}  // namespace

void JournalSync::Run() const {
  for (const auto& segment : segments_) {
    // EINVAL: the file cannot be synced (a pipe, /dev/null), which is not an error of the run.
    if (::fdatasync(segment->get()) != 0 && errno != EINVAL) {
      throw std::system_error(errno, std::generic_category(), "cannot sync the journal");
    }
  }
  if (!directory_.empty()) SyncDirectory(directory_);
}

JournalWriter::JournalWriter(std::filesystem::path journal, JournalHeader header, Options options)
    : journal_(std::move(journal)), options_(options), header_(header) {
  if (options_.discard) return;
  // 1. Where the run goes on.
  if (header_.after.offset == 0) {
    std::filesystem::remove_all(journal_);
    CreateDirectories(journal_);
  } else {
    AdoptOldJournal(journal_);
    header_.after = WholeUpTo(header_.after);
  }
  // 2. The first segment of this term, with its header.
  header_.segment = 0;
  if (OpenSegment()) return;
  const int error = errno;
  if (!MayGetRoom(error) && error != EFBIG) {
    throw std::system_error(error, std::generic_category(),
                            fmt::format("cannot open {}", path().string()));
  }
  Fail("write", error);
}

JournalWriter::~JournalWriter() { Flush(); }

std::filesystem::path JournalWriter::path() const {
  return journal_ / SegmentName(header_.term, header_.segment);
}

// Begins the segment of header_. Returns false, with errno set and no file left, if it cannot.
bool JournalWriter::OpenSegment() {
  FileDescriptor file(::open(path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) return false;
  const std::string header = EncodeHeader(header_);
  if (!WriteAll(file.get(), header)) {
    const int error = errno;
    ::unlink(path().c_str());
    errno = error;
    return false;
  }
  file_ = std::make_shared<const FileDescriptor>(std::move(file));
  unsynced_.segments_.push_back(file_);
  unsynced_.directory_ = journal_;
  written_ = header.size();
  return true;
}

// Returns the position up to which the segment of `after` is whole: `after`, or one before it, or
// nowhere.
JournalPosition JournalWriter::WholeUpTo(JournalPosition after) {
  const std::filesystem::path segment = journal_ / SegmentName(after.term, after.segment);
  if (!std::filesystem::exists(segment)) {
    SetIncomplete(fmt::format("{} is missing: a new journal begins", segment.string()));
    return {};
  }
  // 1. It belongs to this run.
  std::optional<SegmentReader> reader;
  try {
    reader.emplace(segment);
  } catch (const JournalUnreadable& unreadable) {
    SetIncomplete(fmt::format("{}: a new journal begins", unreadable.what()));
    return {};
  }
  const JournalHeader& found = reader->header();
  if (found.seed != header_.seed || found.fingerprint != header_.fingerprint) {
    throw std::runtime_error(fmt::format(
        "{} is the journal of another run (seed {}, fingerprint {:016x}; this run has seed {}, "
        "fingerprint {:016x})",
        segment.string(), found.seed, found.fingerprint, header_.seed, header_.fingerprint));
  }
  // 2. It is whole. The segments before it were when it was begun.
  std::uint64_t whole = reader->offset();
  while (whole < after.offset && reader->Next() && reader->offset() <= after.offset) {
    whole = reader->offset();
  }
  if (whole != after.offset) {
    SetIncomplete(fmt::format("{} is whole up to byte {} only, the checkpoint is at byte {}",
                              segment.string(), whole, after.offset));
  }
  return {after.term, after.segment, whole};
}

void JournalWriter::SetIncomplete(std::string error) {
  complete_ = false;
  error_ = std::move(error);
}

bool JournalWriter::Append(const JournalRecord& record) {
  if (broken_ || options_.discard) return true;
  if (!AppendRecord(buffer_, record)) return Flush() && Fail("write so long a record to", EFBIG);
  return buffer_.size() < kBufferSize || Flush();
}

bool JournalWriter::Flush() {
  if (broken_ || options_.discard) return true;
  // 1. The buffer goes to the segment.
  if (!WriteAll(file_->get(), buffer_)) return Fail("write", errno);
  written_ += buffer_.size();
  buffer_.clear();
  // 2. A long one is followed by the next.
  if (written_ < options_.segment_bytes) return true;
  const JournalHeader full = header_;
  header_.after = position();
  ++header_.segment;
  if (OpenSegment()) return true;
  header_ = full;
  return Fail("begin the segment after", errno);
}

JournalSync JournalWriter::TakeSync() {
  Flush();
  JournalSync sync = std::exchange(unsynced_, {});
  // Records to come go to this segment, too.
  if (!broken_ && !options_.discard) unsynced_.segments_.push_back(file_);
  return sync;
}

bool JournalWriter::GoOn(const TermRecord& from, double entropy) {
  header_.after = position();
  ++header_.segment;
  written_ = 0;
  if (!OpenSegment()) return false;
  broken_ = false;
  Append(GapRecord{});  // there may have been no room for the one before
  Append(from);
  Append(EntropyRecord{entropy});
  return Flush();
}

bool JournalWriter::Fail(const char* what, int error) {
  broken_ = true;
  ++gaps_;
  buffer_.clear();
  const std::string reason =
      fmt::format("cannot {} {}: {}", what, path().string(), ErrorText(error));
  // 1. It may be that none was begun.
  SetIncomplete(written_ == 0 ? reason
                              : fmt::format("{}; its records end at byte {}", reason, written_));
  if (written_ == 0) return false;
  // 2. Best effort: cut off the written part of the buffer, so that the segment ends with a whole
  // record. A reader stops at a torn tail anyway.
  const auto end = static_cast<off_t>(written_);
  const auto cut = [&] { return ::ftruncate(file_->get(), end) == 0; };
  if (!cut()) return false;
  // 3. A record says so there, if there is room. Later positions lie behind it.
  std::string gap;
  AppendRecord(gap, GapRecord{});
  if (::pwrite(file_->get(), gap.data(), gap.size(), end) == std::ssize(gap)) {
    written_ += gap.size();
  } else {
    cut();
  }
  return false;
}

}  // namespace starling::learner
