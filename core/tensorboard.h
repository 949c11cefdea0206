// Event files for TensorBoard, reduced to scalars. A file is a sequence of records in the format of
// TensorFlow's TFRecord; each record holds a protobuf message Event.
//
//   record   length (u64), masked CRC32C of length (u32), data, masked CRC32C of data (u32),
//            all little-endian                     tensorflow/core/lib/io/record_writer.h
//   data     Event { wall_time = 1 (double), step = 2 (int64), file_version = 3 (string),
//            summary = 5 (Summary), session_log = 7 (SessionLog { status = 1 }) }
//            Summary { value = 1 (Value, repeated) }, Value { tag = 1, simple_value = 2 (float) }
//                                                 tensorflow/core/util/event.proto, summary.proto
//
// Thread safety: an EventFile belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/file_descriptor.h"

namespace starling {

struct Scalar {
  std::string tag;  // "loss/policy"
  double value = 0;
};

// CRC-32C (Castagnoli), RFC 3720, appendix B.4.
std::uint32_t Crc32c(std::string_view bytes);
// The form in a record: the CRC rotated right by 15 bits, plus 0xa282ead8.
std::uint32_t MaskedCrc32c(std::string_view bytes);
// Returns `data` with its length and checksums.
std::string FrameRecord(std::string_view data);

// Events as data of a record. `wall_s` is seconds since 1970, `step` environment steps.
std::string VersionEvent(double wall_s);                    // the first of every file
std::string StartEvent(double wall_s, std::uint64_t step);  // hides earlier events from `step` on
std::string ScalarsEvent(double wall_s, std::uint64_t step, std::span<const Scalar> scalars);

// One writer's file in a log directory of TensorBoard. A resumed run opens a new file: TensorBoard
// reads the files of a directory in the order of their names.
class EventFile {
 public:
  // Creates dir/events.out.tfevents.SECONDS.HOST.PID.COUNT, and `dir` if it does not exist. Hides
  // the events of earlier files from `first_step` on. Throws std::system_error naming the path that
  // cannot be created.
  EventFile(const std::filesystem::path& dir, std::uint64_t first_step);

  // Appends one event, readable at once. Returns false if it cannot be written (a full disk): the
  // file is unchanged, and a later Write may succeed.
  bool Write(std::uint64_t step, std::span<const Scalar> scalars);

 private:
  FileDescriptor file_;
  std::string unwritten_;  // the first records, until they are written with the first event
  std::int64_t size_ = 0;  // bytes of whole records
};

}  // namespace starling
