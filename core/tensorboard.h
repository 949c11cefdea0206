// Numbers for TensorBoard: an event file holds records, each a protobuf message Event, in the frame
// of TensorFlow's TFRecord. As much of it as scalars need.
//
//   record   length (u64), masked CRC32C of the length (u32), data, masked CRC32C of the data (u32),
//            little-endian                        tensorflow/core/lib/io/record_writer.h
//   data     Event { wall_time = 1 (double), step = 2 (int64), file_version = 3 (string),
//            summary = 5 (Summary), session_log = 7 (SessionLog { status = 1 }) }
//            Summary { value = 1 (Value, repeated) }, Value { tag = 1, simple_value = 2 (float) }
//                                                 tensorflow/core/util/event.proto, summary.proto
//
// Thread safety: an EventFile is one thread's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace starling {

struct Scalar {
  std::string tag;  // "loss/policy"
  double value = 0;
};

// CRC-32C (Castagnoli), RFC 3720, appendix B.4.
std::uint32_t Crc32c(std::string_view bytes);
// As records hold it: rotated right by 15 bits, plus 0xa282ead8.
std::uint32_t MaskedCrc32c(std::string_view bytes);
// `data` with its length and checksums.
std::string FrameRecord(std::string_view data);

// Events as data of a record. `wall_s` is seconds since 1970, `step` environment steps.
std::string VersionEvent(double wall_s);                    // the first of every file
std::string StartEvent(double wall_s, std::uint64_t step);  // hides what came before from `step` on
std::string ScalarsEvent(double wall_s, std::uint64_t step, std::span<const Scalar> scalars);

// One writer's file in a directory that TensorBoard is pointed at. Whoever goes on with a run opens a
// new one: TensorBoard reads the files of a directory one after the other, as they sort by name.
class EventFile {
 public:
  // Creates dir/events.out.tfevents.SECONDS.HOST.PID, and `dir` if need be. What earlier files tell of
  // `first_step` and later steps is no longer shown. Throws std::system_error naming what cannot be
  // created.
  EventFile(const std::filesystem::path& dir, std::uint64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // One event, readable at once. False if it could not be written (a full disk): then the file is as
  // it was, and the next may fit again.
  bool Write(std::uint64_t step, std::span<const Scalar> scalars);

 private:
  std::string unwritten_;  // what the file begins with, until it does
  std::int64_t size_ = 0;  // bytes of whole records
  int fd_ = -1;
};

}  // namespace starling
