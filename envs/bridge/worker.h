// The client's side of one worker process (protocol.h): started, spoken to, ended.
//
// Nothing that a worker does ends its client: what goes wrong is a Trouble, after which the process
// is dead and reaped and the Worker good for nothing. WorkerEnvs (worker_envs.h) replaces it.
//
// Thread safety: none; a worker dies with the thread that started it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envs/bridge/protocol.h"
#include "envs/bridge/spawn.h"
#include "envs/frames.h"

namespace starling::envs {

// What to start, and what to tell it.
struct WorkerProgram {
  std::vector<std::string> argv = {};         // argv[0]: a path, or a name to be found in $PATH
  std::string input = {};                     // on its standard input
  std::vector<std::string> environment = {};  // "NAME=value", added where NAME is not set
  std::string settings = "{}";  // a JSON object: the client's first line less what it adds itself
  std::string name = {};        // the env's, for its spec and for sentences
};

// Why a worker is no more.
struct Trouble {
  std::string what = {};        // "was killed by SIGSEGV", "did not answer within 5 s", ...
  std::string last_words = {};  // the last line that it printed; may be empty
  bool mistake = false;         // it said {"error": what}: a new attempt would say the same
};

class Worker {
 public:
  // Starts a process that plays seeds.size() >= 1 envs. Throws UserError if argv[0] is not found.
  Worker(const WorkerProgram& program, std::span<const std::uint64_t> seeds,
         const Repeat& repeat = {}, WhileWaiting while_waiting = {});
  ~Worker();  // ends it: asks, waits up to a second, kills
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits until it can play; once, first of all. `limit_s` from the construction on.
  std::optional<Trouble> Join(double limit_s);
  const FrameSpec& spec() const { return spec_; }  // after Join

  // commands (count, repeat.frames) as they lie in memory. Returns at once; Take must follow.
  void Play(std::span<const std::int32_t> commands);

  // Waits for what Play began, `limit_s` from that on, and checks every answer.
  std::optional<Trouble> Take(double limit_s);

  // After Take, until the next Play; env in [0, count), not one that was skipped.
  FrameResult result(int env) const;
  // The frame as it lies in shared memory: height * width * channels bytes or floats.
  std::span<const std::uint8_t> bytes(int env) const { return Bytes(at_.frames, env); }
  std::span<const float> floats(int env) const { return Floats(at_.frames, env); }
  // The one before it, if repeat.keep_before.
  std::span<const std::uint8_t> bytes_before(int env) const { return Bytes(at_.before, env); }
  std::span<const float> floats_before(int env) const { return Floats(at_.before, env); }

  // Asks it to end, without waiting: to end many at once.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<Trouble> Await(std::string_view end, double limit_s);
  std::optional<Trouble> AwaitEvent(double limit_s, bool& late);
  std::optional<Trouble> Share();
  void Listen();
  void Send();
  Trouble Fail(std::string what, int wait_ms = 0);
  std::string LastWords() const;
  const std::byte* At(std::size_t offset, int env, std::size_t stride) const;
  std::span<const std::uint8_t> Bytes(std::size_t offset, int env) const;
  std::span<const float> Floats(std::size_t offset, int env) const;

  const std::string name_;
  const WhileWaiting while_waiting_;
  const std::size_t count_;
  const Repeat repeat_;
  Fd memory_;
  Spawned process_;
  Clock::time_point begun_;  // the construction, or the last Play
  std::string outgoing_, incoming_, printed_;
  std::size_t heard_ = 0;  // bytes that it has printed
  FrameSpec spec_;
  std::size_t frame_size_ = 0;  // numbers
  WorkerMemory at_;
  std::byte* map_ = nullptr;            // at_.size bytes
  std::vector<std::int32_t> commands_;  // (count, repeat.frames)
  char turn_ = 0;                       // the last byte sent
};

}  // namespace starling::envs
