#include "learner/storage/journal_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/text.h"

namespace starling::learner {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

[[noreturn]] void Throw(int error, const std::string& path) {
  throw std::system_error(error, std::generic_category(), "cannot read " + path);
}

// The inverse of SegmentName.
std::optional<std::pair<std::uint32_t, std::uint32_t>> ParseSegmentName(std::string_view name) {
  const std::size_t dash = name.find("-s");
  if (!name.starts_with('t') || dash == std::string_view::npos) return std::nullopt;
  const auto term = ParseNumber(name.substr(1, dash - 1));
  const auto segment = ParseNumber(name.substr(dash + 2));
  if (!term || !segment || *term > UINT32_MAX || *segment > UINT32_MAX) return std::nullopt;
  return std::pair(static_cast<std::uint32_t>(*term), static_cast<std::uint32_t>(*segment));
}

auto SegmentOf(const std::vector<LineSegment>& line, JournalPosition position) {
  return std::ranges::find_if(line, [&](const LineSegment& one) {
    return one.segment.term == position.term && one.segment.segment == position.segment;
  });
}

// Throws as SegmentReader, and JournalUnreadable if it has another name than its own.
JournalHeader ReadHeader(const Segment& segment) {
  const JournalHeader header = SegmentReader(segment.path).header();
  if (header.term == segment.term && header.segment == segment.segment) return header;
  throw JournalUnreadable(fmt::format("{} is {} under another name", segment.path.string(),
                                      SegmentName(header.term, header.segment)));
}

std::optional<JournalHeader> HeaderOf(const Segment& segment) {
  try {
    return ReadHeader(segment);
  } catch (const JournalUnreadable&) {
    return std::nullopt;
  }
}

// Returns the fault of the segment of `at`, as in "RUN/journal/t0001-s000000 is missing"; "" if it
// reaches to there.
std::string Fault(const std::filesystem::path& journal, JournalPosition at) {
  const Segment segment{at.term, at.segment, journal / SegmentName(at.term, at.segment)};
  if (!std::filesystem::exists(segment.path)) return segment.path.string() + " is missing";
  if (!std::filesystem::is_regular_file(segment.path)) return segment.path.string() + " is no file";
  try {
    ReadHeader(segment);
  } catch (const JournalUnreadable& error) {
    return error.what();
  }
  const std::uint64_t size = std::filesystem::file_size(segment.path);
  if (size >= at.offset) return "";
  return fmt::format("{} ends at byte {}, before byte {}", segment.path.string(), size, at.offset);
}

// Returns the reason why `line` does not cover `from`. REQUIRES: it does not.
std::string WhyNotCovered(const std::filesystem::path& journal,
                          const std::vector<LineSegment>& line, JournalPosition from) {
  std::string fault = Fault(journal, from);
  const JournalPosition after = line.front().header.after;  // where the line breaks off
  if (fault.empty() && SegmentOf(line, from) == line.end() && after.offset > 0) {
    fault = Fault(journal, {after.term, after.segment, 0});
  }
  if (!fault.empty()) return fault;
  return fmt::format("a later learner has passed over byte {} of {}", from.offset,
                     (journal / SegmentName(from.term, from.segment)).string());
}

}  // namespace

// ---- one segment

SegmentReader::SegmentReader(const std::filesystem::path& path)
    : path_(path.string()), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_.get() < 0) Throw(errno, path_);
  Fill(kMaxJournalHeader);
  const DecodedHeader decoded =
      DecodeHeader(std::string_view(buffer_).substr(0, kMaxJournalHeader));
  if (!decoded.error.empty()) throw JournalUnreadable(fmt::format("{} {}", path_, decoded.error));
  header_ = decoded.header;
  begin_ = offset_ = decoded.size;
}

// Reads until `bytes` lie behind begin_. Returns false if the file ends before.
bool SegmentReader::Fill(std::size_t bytes) {
  while (buffer_.size() - begin_ < bytes) {
    // 1. Forget what was returned.
    buffer_.erase(0, std::exchange(begin_, 0));
    // 2. Read more behind the rest.
    const std::size_t kept = buffer_.size();
    buffer_.resize(kept + kReadBytes);  // not `bytes`: a damaged length may be large
    const ssize_t got = ::read(file_.get(), buffer_.data() + kept, buffer_.size() - kept);
    const int error = errno;
    buffer_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return false;
    if (got < 0 && error != EINTR) Throw(error, path_);
  }
  return true;
}

std::optional<JournalRecord> SegmentReader::Next() {
  const auto end = [&](JournalEnding ending) {
    ending_ = ending;
    return std::nullopt;
  };
  // 1. The frame: complete, and of a possible length.
  if (!Fill(kJournalFrame)) {
    const std::size_t rest = buffer_.size() - begin_;
    const bool impossible =
        rest >= 4 && PayloadOf(std::string_view(buffer_).substr(begin_)) > kMaxJournalPayload;
    return end(rest == 0 ? JournalEnding::kEnd
                         : (impossible ? JournalEnding::kDamaged : JournalEnding::kTorn));
  }
  const std::uint32_t payload = PayloadOf(std::string_view(buffer_).substr(begin_));
  if (payload > kMaxJournalPayload) return end(JournalEnding::kDamaged);
  const std::size_t size = kJournalFrame + payload;
  if (!Fill(size)) {
    const bool torn = MayBeRecord(std::string_view(buffer_).substr(begin_));
    return end(torn ? JournalEnding::kTorn : JournalEnding::kDamaged);
  }
  // 2. The content.
  auto record = DecodeRecord(std::string_view(buffer_).substr(begin_, size));
  if (!record) return end(JournalEnding::kDamaged);
  begin_ += size;
  offset_ += size;
  return record;
}

void SegmentReader::Skip(std::uint64_t offset) {
  if (::lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) < 0) Throw(errno, path_);
  buffer_.clear();
  begin_ = 0;
  offset_ = offset;
}

// ---- the directory

std::string SegmentName(std::uint32_t term, std::uint32_t segment) {
  return fmt::format("t{:04}-s{:06}", term, segment);
}

std::vector<Segment> ListSegments(const std::filesystem::path& journal) {
  if (!std::filesystem::is_directory(journal)) {
    if (!std::filesystem::exists(journal)) return {};
    return {{.path = journal}};
  }
  std::vector<Segment> found;
  for (const auto& entry : std::filesystem::directory_iterator(journal)) {
    const auto parts = ParseSegmentName(entry.path().filename().string());
    if (!parts || !entry.is_regular_file()) continue;
    found.push_back({parts->first, parts->second, entry.path()});
  }
  std::ranges::sort(found, {}, [](const Segment& s) { return std::pair(s.term, s.segment); });
  return found;
}

std::vector<LineSegment> LineOf(const std::filesystem::path& journal) {
  std::vector<Segment> segments = ListSegments(journal);
  if (segments.empty()) Throw(ENOENT, journal.string());
  // 1. The newest one with a header: its learner may have been killed before it wrote one.
  std::vector<LineSegment> line;
  while (!segments.empty() && line.empty()) {
    const auto header = HeaderOf(segments.back());
    if (header) line.push_back({segments.back(), *header, std::nullopt});
    if (!header && segments.size() == 1) ReadHeader(segments.back());  // throws
    segments.pop_back();
  }
  // 2. Back to the beginning. Positions fall, so this ends.
  while (line.back().header.after.offset > 0) {
    const JournalPosition after = line.back().header.after;
    const auto before = std::ranges::find_if(segments, [&](const Segment& segment) {
      return segment.term == after.term && segment.segment == after.segment;
    });
    if (before == segments.end()) break;
    const auto header = HeaderOf(*before);
    if (!header) break;
    line.push_back({*before, *header, after.offset});
    segments.erase(before, segments.end());
  }
  std::ranges::reverse(line);
  return line;
}

bool Covers(const std::vector<LineSegment>& line, JournalPosition position) {
  const auto in = SegmentOf(line, position);
  return in != line.end() &&
         position.offset <= in->end.value_or(std::filesystem::file_size(in->segment.path));
}

// ---- the run

JournalReader::JournalReader(const std::filesystem::path& journal, JournalPosition from)
    : line_(LineOf(journal)), header_(line_.front().header) {
  if (from.offset == 0) {
    segment_.emplace(line_.front().segment.path);
    return;
  }
  if (!Covers(line_, from)) {
    throw JournalUnreadable(WhyNotCovered(journal, line_, from));
  }
  index_ = static_cast<std::size_t>(SegmentOf(line_, from) - line_.begin());
  header_ = line_[index_].header;
  segment_.emplace(line_[index_].segment.path);
  segment_->Skip(from.offset);
}

std::optional<JournalRecord> JournalReader::Next() {
  while (true) {
    // 1. The segment's records, as far as they belong to the run.
    const LineSegment& now = line_[index_];
    if (!now.end || segment_->offset() < *now.end) {
      auto record = segment_->Next();
      if (record && (!now.end || segment_->offset() <= *now.end)) return record;
      // Only the last segment may end inside a record.
      ending_ = now.end ? JournalEnding::kDamaged : segment_->ending();
      return std::nullopt;
    }
    // 2. Then those of the next one.
    segment_.emplace(line_[++index_].segment.path);
  }
}

JournalPosition JournalReader::position() const {
  const Segment& segment = line_[index_].segment;
  return {segment.term, segment.segment, segment_->offset()};
}

// ---- behind a checkpoint

std::string Counted(const JournalTail& tail, std::uint64_t steps) {
  return fmt::format("{} ({} steps)", Plural(tail.updates, "update"), Grouped(tail.steps - steps));
}

JournalTail TailOf(const std::filesystem::path& journal, JournalPosition from) {
  JournalReader reader(journal, from);
  JournalTail tail{.end = from};
  std::string gap;  // where the first is
  while (const auto record = reader.Next()) {
    if (std::holds_alternative<GapRecord>(*record)) {
      gap = fmt::format("{}, byte {}, where a write failed", reader.path().string(),
                        reader.position().offset - kJournalFrame);  // it is a frame alone
      break;
    }
    const auto* update = std::get_if<UpdateRecord>(&*record);
    if (update == nullptr) continue;
    ++tail.updates;
    tail.version = update->version;
    tail.steps = update->steps;
    tail.end = reader.position();
  }
  tail.damaged = !gap.empty() || reader.ending() == JournalEnding::kDamaged;
  if (tail.damaged) {
    tail.where = !gap.empty()
                     ? gap
                     : fmt::format("{}, byte {}", reader.path().string(), reader.position().offset);
  }
  // A segment that follows, but whose header cannot be read. A learner that was killed before it
  // wrote one has left an empty file.
  const Segment newest = ListSegments(journal).back(), last = LineOf(journal).back().segment;
  if (gap.empty() && newest.path != last.path && std::filesystem::file_size(newest.path) > 0) {
    tail.damaged = true;
    tail.where = newest.path.string() + ", byte 0";
  }
  return tail;
}

}  // namespace starling::learner
