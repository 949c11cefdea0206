#include "envs/bridge/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "envs/bridge/protocol.h"

namespace starling::envs {
namespace {

constexpr std::size_t kPrintedLimit = 4096;     // bytes of output that are kept
constexpr std::int64_t kHeardLimit = 16 << 20;  // bytes of output before the first turn
constexpr std::size_t kLastWordsLimit = 300, kMistakeLimit = 1000;  // bytes in an error message
constexpr int kGraceMs = 1000;      // for a process to end by itself
constexpr int kShortGraceMs = 100;  // for one that may hang
constexpr int kWaitMs = 100;        // between calls of while_waiting

std::string FirstLine(const WorkerProgram& program, std::span<const std::uint64_t> seeds,
                      const Repeat& repeat) {
  nlohmann::json line = program.settings;
  line["protocol"] = kWorkerProtocol;
  line["count"] = seeds.size();
  line["seeds"] = std::vector<std::uint64_t>(seeds.begin(), seeds.end());
  line["frames"] = repeat.frames;
  line["before"] = repeat.keep_before;
  line["lost_life_stops"] = repeat.stop_at_lost_life;
  // A path in the settings need not be UTF-8.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

// Lets a receive return after 10 ms without data.
bool LimitReceive(int fd) {
  const timeval limit{.tv_sec = 0, .tv_usec = 10'000};
  return ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0;
}

std::int64_t MsSince(std::chrono::steady_clock::time_point time) {
  const auto now = std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - time).count();
}

std::string Reason(int error) {
  const char* reason = ::strerrordesc_np(error);
  return reason != nullptr ? reason : "unknown error";
}

}  // namespace

Worker::Worker(const WorkerProgram& program, std::span<const std::uint64_t> seeds,
               const Repeat& repeat, WhileWaiting while_waiting)
    : name_(program.name),
      while_waiting_(std::move(while_waiting)),
      count_(seeds.size()),
      repeat_(repeat),
      begun_(Clock::now()) {
  CHECK(count_ > 0);
  // 1. Find the program.
  const std::string path = FindProgram(program.argv[0]);
  if (path.empty()) {
    throw UserError(fmt::format("{}: there is no program \"{}\"", name_, program.argv[0]));
  }
  // 2. Make the control socket, and a memory file that has no size yet. Join reports a failure.
  outgoing_ = FirstLine(program, seeds, repeat);
  memory_ = FileDescriptor(::memfd_create("starling-envs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::array<int, 2> ends{-1, -1};
  const bool paired = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0;
  control_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  if (memory_.get() < 0 || !paired || !LimitReceive(control_.get())) {
    process_.error = errno;
    return;
  }
  // 3. Start it.
  static_assert(kWorkerControlFd == kStatusFd && kWorkerMemoryFd == kStatusFd + 1);
  process_ = Spawn({.program = path,
                    .arguments = {program.argv.begin() + 1, program.argv.end()},
                    .death_signal = SIGKILL,
                    .descriptors = {theirs.get(), memory_.get()},
                    .environment = program.environment,
                    .input = program.input});
  if (process_.pid > 0) Send();
}

Worker::~Worker() {
  if (process_.pid > 0) {
    Close();
    EndChild(process_.pid, GraceMs());
  }
  if (map_ != nullptr) ::munmap(map_, at_.size);
}

void Worker::Close() {
  if (process_.pid <= 0) return;
  char some = 0;  // one byte of an unread answer
  if (::recv(control_.get(), &some, 1, MSG_PEEK | MSG_DONTWAIT) > 0) owes_ = false;
  ::shutdown(control_.get(), SHUT_RDWR);
  if (!closed_) closed_ = Clock::now();
}

// What the process has left to end by itself. Those that were closed together have it together.
int Worker::GraceMs() const {
  const std::int64_t left_ms = (owes_ ? kShortGraceMs : kGraceMs) - MsSince(*closed_);
  return static_cast<int>(std::max<std::int64_t>(0, left_ms));
}

std::optional<WorkerError> Worker::Join(double limit_s) {
  if (process_.pid < 0) {
    return WorkerError{.text = Describe({ChildExit::How::kNotStarted, process_.error})};
  }
  // 1. Read the worker's spec, or the user's mistake that it found.
  if (auto error = Await("\n", limit_s)) return error;
  std::string mistake;
  const auto spec = ReadWorkerSpec(incoming_, name_, mistake);
  if (!mistake.empty()) {
    WorkerError error = Fail(mistake, kGraceMs);
    error.text = OneLine(mistake, kMistakeLimit);
    error.mistake = true;
    return error;
  }
  if (!spec) return Fail("gave an invalid answer instead of its spec");
  spec_ = *spec;
  frame_size_ = spec_.env.row();
  words_ = static_cast<std::size_t>(repeat_.frames) * spec_.env.actions.width();
  // 2. Share the memory, and wait until the worker has mapped it.
  if (auto error = Share()) return error;
  if (auto error = Await("\n", limit_s)) return error;
  if (!SaysReady(incoming_)) return Fail("gave an invalid answer instead of being ready");
  return std::nullopt;
}

// Gives the memory file its final size, maps it and sends the layout.
std::optional<WorkerError> Worker::Share() {
  at_ =
      LayOut(count_, words_, repeat_.keep_before, frame_size_ * (spec_.bytes ? 1 : sizeof(float)));
  // Sealed, because after a worker's ftruncate our next access would be a SIGBUS.
  void* map = MAP_FAILED;
  if (::ftruncate(memory_.get(), static_cast<off_t>(at_.size)) == 0 &&
      ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    map = ::mmap(nullptr, at_.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  }
  if (map == MAP_FAILED) return Fail(fmt::format("needs {} bytes: {}", at_.size, Reason(errno)));
  map_ = static_cast<std::byte*>(map);
  nlohmann::json line = {{"size", at_.size},       {"commands", at_.commands},
                         {"rewards", at_.rewards}, {"ends", at_.ends},
                         {"lives", at_.lives},     {"played", at_.played},
                         {"frames", at_.frames},   {"stride", at_.stride}};
  if (repeat_.keep_before) line["before"] = at_.before;
  outgoing_ = line.dump() + '\n';
  Send();
  return std::nullopt;
}

void Worker::Play(std::span<const std::int32_t> commands) {
  CHECK(commands.size() == count_ * words_, "{} words of commands", commands.size());
  commands_.assign(commands.begin(), commands.end());
  Begin(commands);
}

// Begins a turn; `behind` follows its byte.
void Worker::Begin(std::span<const std::int32_t> commands, std::string_view behind) {
  std::memcpy(map_ + at_.commands, commands.data(), commands.size_bytes());
  begun_ = Clock::now();
  owes_ = true;
  outgoing_ = ++turn_;
  outgoing_ += behind;
  Send();
}

std::optional<WorkerError> Worker::Save(std::vector<std::byte>& state, double limit_s) {
  Begin(std::vector(count_ * words_, kWorkerSave));
  // 1. The turn's byte and the size.
  std::uint64_t size = 0;
  const std::size_t begin = 1 + sizeof size;
  if (auto error = Await("", limit_s, begin)) return error;
  std::memcpy(&size, &incoming_[1], sizeof size);
  if (incoming_[0] != turn_ || size > kWorkerStateLimit) {
    return Fail("gave an invalid answer instead of its state");
  }
  // 2. The state.
  if (auto error = AwaitMore("", limit_s, begin + size)) return error;
  if (incoming_.size() != begin + size) return Fail("gave more than its state");
  const auto bytes = std::as_bytes(std::span(incoming_)).subspan(begin);
  state.assign(bytes.begin(), bytes.end());
  return std::nullopt;
}

std::optional<WorkerError> Worker::Restore(std::span<const std::byte> state, double limit_s) {
  const std::uint64_t size = state.size();
  std::string behind(sizeof size + size, '\0');
  std::memcpy(behind.data(), &size, sizeof size);
  std::ranges::transform(state, behind.begin() + sizeof size,
                         [](std::byte byte) { return static_cast<char>(byte); });
  Begin(std::vector(count_ * words_, kWorkerRestore), behind);
  if (auto error = Await("", limit_s)) return error;
  if (incoming_ != std::string_view(&turn_, 1)) {
    return Fail("gave an invalid answer to its state");
  }
  return std::nullopt;
}

std::optional<WorkerError> Worker::Take(double limit_s) {
  if (auto error = Await("", limit_s)) return error;
  if (incoming_ != std::string_view(&turn_, 1)) return Fail("gave an invalid answer after playing");
  for (int i = 0; i < static_cast<int>(count_); ++i) {
    const std::string wrong = WrongIn(i);
    if (!wrong.empty()) return Fail("gave an invalid answer: " + wrong);
  }
  return std::nullopt;
}

// Sends as much as the socket takes; AwaitEvent sends the rest. The next read finds a dead worker.
void Worker::Send() {
  while (!outgoing_.empty()) {
    const ssize_t done = ::send(control_.get(), outgoing_.data() + sent_, outgoing_.size() - sent_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) return;
    if (done > 0) sent_ += static_cast<std::size_t>(done);
    if (done > 0 && sent_ < outgoing_.size()) continue;
    outgoing_.clear();  // all is sent, or the worker is dead
    sent_ = 0;
  }
}

// Reads the worker's output and keeps its end.
void Worker::Listen() {
  std::array<char, 4096> some;
  for (int i = 0; i < 64; ++i) {  // a limit for a worker that never stops printing
    const ssize_t got = ::read(process_.output.get(), some.data(), some.size());
    if (got == 0) process_.output = FileDescriptor();  // all writers have closed it
    if (got <= 0) return;
    heard_ += got;
    printed_.append(some.data(), some.data() + got);
    if (printed_.size() > kPrintedLimit) printed_.erase(0, printed_.size() - kPrintedLimit);
  }
}

// Reads into `incoming_` until it has `size` bytes and ends with `end`.
std::optional<WorkerError> Worker::Await(std::string_view end, double limit_s, std::size_t size) {
  incoming_.clear();
  return AwaitMore(end, limit_s, size);
}

// Goes on reading behind the bytes that are in `incoming_` already.
std::optional<WorkerError> Worker::AwaitMore(std::string_view end, double limit_s,
                                             std::size_t size) {
  // First without poll, because most answers arrive at once. The socket has a receive timeout.
  bool soon = outgoing_.empty(), late = false;
  owes_ = true;
  while (incoming_.size() < size || !incoming_.ends_with(end)) {
    if (!soon) {
      if (auto error = AwaitEvent(limit_s, late)) return error;
    }
    std::array<char, 4096> some;
    const ssize_t got = ::recv(control_.get(), some.data(), some.size(),
                               std::exchange(soon, false) ? 0 : MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return Fail("", kGraceMs);
    incoming_.append(some.data(), some.data() + got);
    if (incoming_.size() > std::max(size, kWorkerLineLimit)) {
      return Fail("sent a line without an end");
    }
  }
  owes_ = false;
  return std::nullopt;
}

// Waits for an answer, for output, or for room to send. After the deadline, `limit_s` since begun_,
// it sets `late` and allows one more read, because this process itself may have been stopped.
std::optional<WorkerError> Worker::AwaitEvent(double limit_s, bool& late) {
  const auto deadline =
      begun_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  const auto wanted = static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT);
  std::array<pollfd, 2> fds{{{.fd = control_.get(), .events = wanted, .revents = 0},
                             {.fd = process_.output.get(), .events = POLLIN, .revents = 0}}};
  const std::int64_t at_most = while_waiting_ ? kWaitMs : 1'000'000;
  const int ready =
      ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, at_most)));
  const int error = errno;
  // 1. Check the deadline. A worker that prints all the time is waited for, too.
  if (while_waiting_) while_waiting_((fds[0].revents & POLLIN) != 0 ? 0 : MsSince(begun_));
  if (ready < 0 && error != EINTR) return Fail("could not be polled: " + Reason(error));
  if (left <= 0 && ready >= 0 && (std::exchange(late, true) || fds[0].revents == 0)) {
    return Fail(fmt::format(
        "did not answer within {} s (an env.timeout_s above that gives it more)", limit_s));
  }
  // 2. Handle the output and the unsent rest.
  if (fds[1].revents != 0) Listen();
  if (map_ == nullptr && heard_ > kHeardLimit) {
    return Fail("prints endlessly and does not follow the worker protocol");
  }
  if ((fds[0].revents & POLLOUT) != 0) Send();
  return std::nullopt;
}

// Ends the process. An empty `text` means that it closed its socket: then the text is how it ended.
WorkerError Worker::Fail(std::string text, int wait_ms) {
  const std::optional<ChildExit> ended = EndChild(process_.pid, wait_ms);
  process_.pid = -1;
  Listen();
  if (text.empty()) text = ended ? Describe(*ended) : "closed its control socket";
  return {.text = std::move(text), .last_words = LastWords(), .mistake = false};
}

// The last line of the output that is not empty, fit for an error message.
std::string Worker::LastWords() const {
  const auto last = printed_.find_last_not_of(" \r\n\t");
  if (last == std::string::npos) return "";
  const auto before = printed_.find_last_of('\n', last);
  const auto first = before == std::string::npos ? 0 : before + 1;
  return OneLine(std::string_view(printed_).substr(first, last + 1 - first), kLastWordsLimit);
}

}  // namespace starling::envs
