// starling-env-worker: plays isolated plug-ins (env.isolate) for an actor that started it. The
// worker's side of envs/bridge/protocol.h.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/denormals.h"
#include "core/error.h"
#include "envs/bridge/plugin_library.h"
#include "envs/bridge/protocol.h"

namespace starling::envs {
namespace {

using nlohmann::json;

// The control socket. Every function returns false or nullopt once the client is gone.
class Control {
 public:
  explicit Control(int fd) : fd_(fd) {}

  std::optional<json> ReadLine() const {
    std::string line;
    while (!line.ends_with('\n')) {
      char some[4096];
      const ssize_t got = Again([&] { return ::read(fd_, some, sizeof some); });
      if (got <= 0 || line.size() > kWorkerLineLimit) return std::nullopt;
      line.append(some, some + got);
    }
    json message = json::parse(line, nullptr, false);
    if (!message.is_object()) return std::nullopt;
    return message;
  }
  bool WriteLine(const json& message) const {
    // Names of plug-ins and paths may not be UTF-8.
    return WriteText(message.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  bool WriteText(std::string line) const {
    line += '\n';
    return line.size() <= kWorkerLineLimit && Write(line);
  }
  std::optional<char> ReadTurn() const {
    char turn = 0;
    if (Again([&] { return ::read(fd_, &turn, 1); }) != 1) return std::nullopt;
    return turn;
  }
  bool WriteTurn(char turn) const { return Write({&turn, 1}); }
  // A state: its size and its bytes.
  std::optional<std::vector<std::byte>> ReadState() const {
    std::uint64_t size = 0;
    if (!Read(&size, sizeof size) || size > kWorkerStateLimit) return std::nullopt;
    std::vector<std::byte> state(size);
    if (!Read(state.data(), size)) return std::nullopt;
    return state;
  }
  bool WriteState(std::span<const std::byte> state) const {
    const std::uint64_t size = state.size();
    return Write({reinterpret_cast<const char*>(&size), sizeof size}) &&
           Write({reinterpret_cast<const char*>(state.data()), state.size()});
  }

 private:
  template <class Call>
  static ssize_t Again(Call call) {
    ssize_t done = 0;
    do {
      done = call();
    } while (done < 0 && errno == EINTR);
    return done;
  }
  bool Read(void* to, std::size_t size) const {
    for (std::size_t at = 0; at < size;) {
      const ssize_t got =
          Again([&] { return ::read(fd_, static_cast<std::byte*>(to) + at, size - at); });
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    return true;
  }
  bool Write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t done =
          Again([&] { return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); });
      if (done <= 0) return false;
      text.remove_prefix(done);
    }
    return true;
  }

  int fd_;
};

// The memory shared with the client.
class Memory {
 public:
  Memory(int fd, const json& layout, std::size_t count, const Repeat& repeat, const EnvSpec& spec)
      : words_(static_cast<std::size_t>(repeat.frames) * spec.actions.width()),
        row_(spec.row()),
        at_(LayOut(count, words_, repeat.keep_before, row_ * sizeof(float))) {
    // Both sides compute the layout; the client's size shows that they agree.
    if (layout.value("size", std::size_t{0}) != at_.size) return;
    void* map = ::mmap(nullptr, at_.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) base_ = static_cast<std::byte*>(map);
  }
  ~Memory() {
    if (base_ != nullptr) ::munmap(base_, at_.size);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  bool mapped() const { return base_ != nullptr; }
  // (frames, width())
  std::span<const std::int32_t> commands(std::size_t i) const {
    return {Column(at_.commands) + i * words_, words_};
  }
  std::span<float> newest(std::size_t i) const { return {Frame(at_.frames, i), row_}; }
  // The place for the next frame. The newest becomes the one before, if that is kept.
  std::span<float> Next(std::size_t i) const {
    const std::span frame = newest(i);
    if (at_.before != 0) std::ranges::copy(frame, Frame(at_.before, i));
    return frame;
  }
  std::int32_t& lives(std::size_t i) const { return Column(at_.lives)[i]; }
  void Put(std::size_t i, const FrameResult& result) const {
    reinterpret_cast<double*>(base_ + at_.rewards)[i] = result.reward;
    Column(at_.ends)[i] = static_cast<std::int32_t>(result.end);
    Column(at_.lives)[i] = result.lives;
    Column(at_.played)[i] = result.played;
  }

 private:
  std::int32_t* Column(std::size_t offset) const {
    return reinterpret_cast<std::int32_t*>(base_ + offset);
  }
  float* Frame(std::size_t offset, std::size_t i) const {
    return reinterpret_cast<float*>(base_ + offset + i * at_.stride);
  }

  std::size_t words_, row_;
  WorkerMemory at_;
  std::byte* base_ = nullptr;
};

std::vector<PluginEnv> MakeEnvs(std::shared_ptr<const PluginLibrary> library,
                                const std::vector<std::uint64_t>& seeds) {
  std::vector<PluginEnv> envs;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    envs.emplace_back(library, fmt::format("env {} of the process", i), seeds[i]);
  }
  return envs;
}

Repeat RepeatIn(const json& asked) {
  return {.frames = asked.value("frames", 1),
          .keep_before = asked.value("before", false),
          .stop_at_lost_life = asked.value("lost_life_stops", false)};
}

FrameResult Obey(const Memory& memory, const Repeat& repeat, std::size_t i, PluginEnv& env) {
  auto left = memory.commands(i);
  if (left[0] == FrameEnvs::kReset) return env.Reset(memory.Next(i));
  // 1. Count the actions: behind the last is kSkip.
  const std::size_t width = left.size() / repeat.frames;
  int frames = 0;
  while (frames < repeat.frames && left[frames * width] != FrameEnvs::kSkip) ++frames;
  // 2. Play them.
  return PlayRepeated(repeat, frames, memory.lives(i), [&] {
    const auto action = left.first(width);
    left = left.subspan(width);
    return env.Step(action, memory.Next(i));
  });
}

// The state of all envs with their lives and newest frames.
struct Everything {
  const Memory& memory;
  std::vector<PluginEnv>& envs;

  void Fields(StateBytes& state) {
    state.Tag("wrk2");
    state.Same(envs.size(), "envs of a process");
    for (std::size_t i = 0; i < envs.size(); ++i) {
      state(envs[i]);
      state(memory.lives(i));
      state.Array(memory.newest(i));
    }
  }
};

// Returns false if the client is gone.
bool SaveOrRestore(const Control& control, char turn, bool save, Everything everything) {
  if (save) {
    std::vector<std::byte> state;
    SaveState(everything, state);
    return control.WriteTurn(turn) && control.WriteState(state);
  }
  const auto state = control.ReadState();
  if (!state) return false;
  RestoreState(everything, *state);
  return control.WriteTurn(turn);
}

// Plays turn by turn until the client is gone.
void Play(const Control& control, const Memory& memory, const Repeat& repeat,
          std::vector<PluginEnv>& envs) {
  while (const auto turn = control.ReadTurn()) {
    const std::int32_t first = memory.commands(0)[0];
    if (first == kWorkerSave || first == kWorkerRestore) {
      if (!SaveOrRestore(control, *turn, first == kWorkerSave, {memory, envs})) return;
      continue;
    }
    for (std::size_t i = 0; i < envs.size(); ++i) {
      if (memory.commands(i)[0] == FrameEnvs::kSkip) continue;
      memory.Put(i, Obey(memory, repeat, i, envs[i]));
    }
    if (!control.WriteTurn(*turn)) return;
  }
}

// Plays until the control socket closes; then returns the exit status. Throws UserError if the
// plug-in fails during play: the process must then end.
int ServePlugin(int control_fd, int memory_fd) {
  // 1. Read the client's settings.
  const Control control(control_fd);
  const auto asked = control.ReadLine();
  if (!asked || asked->value("protocol", 0) != kWorkerProtocol) {
    control.WriteLine(
        {{"error", "this starling-env-worker belongs to another version of Starling: build both"}});
    return kExitFailed;
  }
  // 2. Load the plug-in, make its envs and send their spec.
  std::vector<PluginEnv> envs;
  std::shared_ptr<const PluginLibrary> library;
  try {
    library = std::make_shared<PluginLibrary>(LoadPlugin(asked->value("plugin", std::string())));
    envs = MakeEnvs(library, asked->value("seeds", std::vector<std::uint64_t>()));
    if (!control.WriteText(WorkerSpecLine(library->spec))) {
      throw UserError(library->called + ": its action names are too long together: shorten them");
    }
  } catch (const UserError& error) {
    control.WriteLine({{"error", error.what()}});
    return kExitUserError;
  }
  // 3. Map the memory and play.
  const auto layout = control.ReadLine();
  if (!layout) return kExitDone;
  const Repeat repeat = RepeatIn(*asked);
  const Memory memory(memory_fd, *layout, envs.size(), repeat, library->spec.env);
  if (!memory.mapped() || !control.WriteLine({{"ready", true}})) return kExitFailed;
  Play(control, memory, repeat, envs);
  return kExitDone;
}

// Ends without exit handlers, which may call the broken plug-in. The sentence is printed last,
// because the client shows the last line of the output.
[[noreturn]] void ExitAtOnce(const char* sentence) {
  std::fflush(nullptr);
  std::fprintf(stderr, "%s\n", sentence);
  std::_Exit(kExitFailed);
}

}  // namespace
}  // namespace starling::envs

int main() {
  namespace envs = starling::envs;
  for (const int fd : {envs::kWorkerControlFd, envs::kWorkerMemoryFd}) {
    // So that processes started by a plug-in do not hold them open.
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) continue;
    std::fputs("starling-env-worker is started by Starling where env.isolate = true\n", stderr);
    return starling::kExitUserError;
  }
  starling::FlushDenormals();  // as in the actor, so that an episode is the same in both
  try {
    return envs::ServePlugin(envs::kWorkerControlFd, envs::kWorkerMemoryFd);
  } catch (const std::exception& error) {
    envs::ExitAtOnce(error.what());
  }
}
