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

namespace starling {
namespace {

// ---- protobuf: a field is (number << 3 | wire type), followed by its value

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void AddVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

static_assert(std::endian::native == std::endian::little);

template <class T>
void AddFixed(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AddKey(std::string& out, std::uint32_t field, WireType type) {
  AddVarint(out, (field << 3) | static_cast<std::uint32_t>(type));
}

void AddBytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  AddKey(out, field, WireType::kBytes);
  AddVarint(out, bytes.size());
  out += bytes;
}

void AddInteger(std::string& out, std::uint32_t field, std::uint64_t value) {
  AddKey(out, field, WireType::kVarint);
  AddVarint(out, value);
}

std::string Event(double wall_s) {
  std::string event;
  AddKey(event, 1, WireType::kFixed64);
  AddFixed(event, wall_s);
  return event;
}

std::string Value(const Scalar& scalar) {
  std::string value;
  AddBytes(value, 1, scalar.tag);
  AddKey(value, 2, WireType::kFixed32);
  AddFixed(value, static_cast<float>(scalar.value));
  return value;
}

// ---- files

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
  std::string event = Event(wall_s);
  AddBytes(event, 3, "brain.Event:2");
  return event;
}

std::string StartEvent(double wall_s, std::uint64_t step) {
  constexpr std::uint64_t kStart = 1;
  std::string event = Event(wall_s), session;
  AddInteger(event, 2, step);
  AddInteger(session, 1, kStart);
  AddBytes(event, 7, session);
  return event;
}

std::string ScalarsEvent(double wall_s, std::uint64_t step, std::span<const Scalar> scalars) {
  std::string event = Event(wall_s), summary;
  AddInteger(event, 2, step);
  for (const Scalar& scalar : scalars) AddBytes(summary, 1, Value(scalar));
  AddBytes(event, 5, summary);
  return event;
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
