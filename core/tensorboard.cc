#include "core/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "core/process.h"
#include "core/protobuf.h"

namespace starling {
namespace {

// ---- messages

ProtobufMessage Event(double wall_s) {
  ProtobufMessage event;
  event.AddDouble(1, wall_s);
  return event;
}

ProtobufMessage Value(const Scalar& scalar) {
  ProtobufMessage value;
  value.AddBytes(1, scalar.tag);
  value.AddFloat(2, static_cast<float>(scalar.value));
  return value;
}

// ---- files

static_assert(std::endian::native == std::endian::little);

template <class T>
void AddFixed(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

double WallSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// The counter keeps apart two files that a process creates in the same second.
std::filesystem::path NewName(const std::filesystem::path& dir) {
  static std::atomic<int> opened = 0;
  return dir / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                           static_cast<std::int64_t>(WallSeconds()), HostName(), ::getpid(),
                           opened.fetch_add(1));
}

int CreateFileIn(const std::filesystem::path& dir) {
  std::filesystem::create_directories(dir);
  const std::filesystem::path path = NewName(dir);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
  }
  return fd;
}

// The CRC of each byte, for the reflected polynomial 0x1EDC6F41.
constexpr std::array<std::uint32_t, 256> MakeCrcTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

}  // namespace

std::uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = MakeCrcTable();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~crc;
}

std::uint32_t MaskedCrc32c(std::string_view bytes) {
  return std::rotr(Crc32c(bytes), 15) + 0xa282ead8u;
}

std::string FrameRecord(std::string_view data) {
  std::string record;
  AddFixed(record, std::uint64_t{data.size()});
  AddFixed(record, MaskedCrc32c(record));
  record += data;
  AddFixed(record, MaskedCrc32c(data));
  return record;
}

std::string VersionEvent(double wall_s) {
  ProtobufMessage event = Event(wall_s);
  event.AddBytes(3, "brain.Event:2");
  return event.bytes();
}

std::string StartEvent(double wall_s, std::uint64_t step) {
  constexpr int kStart = 1;
  ProtobufMessage event = Event(wall_s), session;
  event.AddInteger(2, static_cast<std::int64_t>(step));
  session.AddInteger(1, kStart);
  event.AddMessage(7, session);
  return event.bytes();
}

std::string ScalarsEvent(double wall_s, std::uint64_t step, std::span<const Scalar> scalars) {
  ProtobufMessage event = Event(wall_s), summary;
  event.AddInteger(2, static_cast<std::int64_t>(step));
  for (const Scalar& scalar : scalars) summary.AddMessage(1, Value(scalar));
  event.AddMessage(5, summary);
  return event.bytes();
}

EventFile::EventFile(const std::filesystem::path& dir, std::uint64_t first_step)
    : file_(CreateFileIn(dir)) {
  const double now = WallSeconds();
  unwritten_ = FrameRecord(VersionEvent(now)) + FrameRecord(StartEvent(now, first_step));
}

bool EventFile::Write(std::uint64_t step, std::span<const Scalar> scalars) {
  const std::string bytes = unwritten_ + FrameRecord(ScalarsEvent(WallSeconds(), step, scalars));
  const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), size_);
  if (written != std::ssize(bytes)) {
    // Removes a torn record, which would end every reader.
    [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), size_);
    return false;
  }
  size_ += written;
  unwritten_.clear();
  return true;
}

}  // namespace starling
