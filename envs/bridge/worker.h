// The client's side of one worker process (protocol.h).
//
// No error of a worker ends its client: the functions return it as WorkerError. Then the process is
// dead and reaped, and the Worker can only be destroyed. WorkerEnvs (worker_envs.h) replaces it.
// After an exception of `while_waiting` it can only be destroyed, too.
//
// Thread safety: none; a worker dies with the thread that started it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/child.h"
#include "envs/bridge/protocol.h"
#include "envs/frames.h"

namespace starling::envs {

// The command line and the settings of a worker.
struct WorkerProgram {
  std::vector<std::string> argv = {};         // argv[0]: a path, or a name to be found in $PATH
  std::string input = {};                     // its standard input
  std::vector<std::string> environment = {};  // "NAME=value", added where NAME is not set
  nlohmann::json settings = nlohmann::json::object();  // merged into the client's first line
  std::string name = {};  // of the env, for its spec and for error messages
};

// The error that ended a worker.
struct WorkerError {
  std::string text = {};        // "was killed by SIGSEGV", "did not answer within 5 s", ...
  std::string last_words = {};  // the last line that it printed; may be empty
  bool mistake = false;         // `text` is the worker's {"error": ...}; a retry is useless
};

class Worker {
 public:
  // Starts a process that plays seeds.size() >= 1 envs. Throws UserError if argv[0] does not exist.
  Worker(const WorkerProgram& program, std::span<const std::uint64_t> seeds,
         const Repeat& repeat = {}, WhileWaiting while_waiting = {});
  // Asks the process to end, waits up to a second since Close, or a tenth if it owes an answer, and
  // kills it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits until the worker can play, `limit_s` at most since the construction. Call it first.
  std::optional<WorkerError> Join(double limit_s);
  const FrameSpec& spec() const { return spec_; }  // after Join

  // Starts a turn. commands (count, repeat.frames, width()) as in the protocol. Returns at once;
  // Take must follow.
  void Play(std::span<const std::int32_t> commands);

  // Waits for the end of the turn, `limit_s` at most since Play, and checks every answer.
  std::optional<WorkerError> Take(double limit_s);

  // Plays a turn of kWorkerSave or kWorkerRestore, `limit_s` at most. REQUIRES: spec().saves.
  std::optional<WorkerError> Save(std::vector<std::byte>& state, double limit_s);
  std::optional<WorkerError> Restore(std::span<const std::byte> state, double limit_s);

  // Valid from Take to the next Play, for an env in [0, count) that was not skipped.
  FrameResult result(int env) const;
  // The frame in shared memory: spec().env.row() bytes or floats.
  std::span<const std::uint8_t> bytes(int env) const { return Bytes(at_.frames, env); }
  std::span<const float> floats(int env) const { return Floats(at_.frames, env); }
  // The frame before it, if repeat.keep_before.
  std::span<const std::uint8_t> bytes_before(int env) const { return Bytes(at_.before, env); }
  std::span<const float> floats_before(int env) const { return Floats(at_.before, env); }

  // Asks the process to end, without waiting, so that many can end together.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  void Begin(std::span<const std::int32_t> commands, std::string_view behind = {});
  std::optional<WorkerError> Await(std::string_view end, double limit_s, std::size_t size = 1);
  std::optional<WorkerError> AwaitMore(std::string_view end, double limit_s, std::size_t size);
  std::optional<WorkerError> AwaitEvent(double limit_s, bool& late);
  std::optional<WorkerError> Share();
  std::string WrongIn(int env) const;
  int FramesAsked(int env) const;
  void Listen();
  void Send();
  int GraceMs() const;
  WorkerError Fail(std::string text, int wait_ms = 0);
  std::string LastWords() const;
  template <class T>
  const T* Element(std::size_t offset, int env, std::size_t stride = sizeof(T)) const;
  std::span<const std::uint8_t> Bytes(std::size_t offset, int env) const;
  std::span<const float> Floats(std::size_t offset, int env) const;

  const std::string name_;
  const WhileWaiting while_waiting_;
  const std::size_t count_;
  const Repeat repeat_;
  FileDescriptor memory_, control_;  // the file that both map; our end of the control socket
  Spawned process_;
  Clock::time_point begun_;  // the construction, or the last Play
  bool owes_ = true;         // an answer since then
  std::optional<Clock::time_point> closed_;
  std::string outgoing_, incoming_;  // on the control socket
  std::size_t sent_ = 0;             // bytes of outgoing_ that the socket has taken
  std::string printed_;              // the end of the worker's output
  std::int64_t heard_ = 0;           // bytes of the worker's output so far
  FrameSpec spec_;
  std::size_t frame_size_ = 0;  // numbers
  WorkerMemory at_;
  std::byte* map_ = nullptr;            // at_.size bytes
  std::size_t words_ = 0;               // of an env's commands: repeat.frames * width()
  std::vector<std::int32_t> commands_;  // (count, words)
  char turn_ = 0;                       // the last byte sent
};

}  // namespace starling::envs
