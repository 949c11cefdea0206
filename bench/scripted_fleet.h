// A learner process, and actors without envs in this process: they join it over real sockets and
// push one gradient again and again. So the learner alone is measured, with nets and fleets that a
// small machine could not act for.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "learner/run_status.h"
#include "tools/sweep/sweep.h"
#include "wire/gradient_buffers.h"
#include "wire/socket.h"

namespace starling::bench {

class LearnerProcess {
 public:
  // Starts a learner of `config` over a new run directory, and waits until it listens. Throws
  // std::runtime_error with the end of its output.
  LearnerProcess(const Site& site, const std::string& name, const std::filesystem::path& config,
                 const std::vector<std::string>& overrides);

  const std::string& endpoint() const { return endpoint_; }
  // The newest line of its metrics (run.metrics_s).
  learner::RunStatus Status();
  // Ends it in order: it writes a last checkpoint. Returns the peak of its memory until then.
  double Stop();

 private:
  void Fail(const std::string& why);

  const Scratch dir_;
  std::string endpoint_;
  int pid_ = -1;
  sweep::Job job_;
};

class ScriptedFleet {
 public:
  // Joins `actors` actors, and waits until each has a grant. `floats`: of the learner's net.
  ScriptedFleet(const std::string& endpoint, std::size_t actors, std::size_t floats);

  // For `seconds` every actor pushes as soon as it has a grant. Returns the applied gradients per
  // second.
  double PushAll(double seconds);
  // One gradient at a time: the next actor pushes when the gradient of the last was answered.
  void PushInTurn(double seconds);

 private:
  struct Actor {
    std::unique_ptr<wire::ClientSocket> socket;
    wire::Header header{};
    std::deque<wire::Grant> grants{};
    std::unique_ptr<wire::GradientBuffersClient> buffers{};
    std::uint64_t applied = 0;
  };
  void Send(Actor& actor, const wire::Body& body, std::span<const float> tensor = {});
  void Push(Actor& actor);
  // Handles the messages that are here.
  void Receive(Actor& actor);
  void OnWelcome(Actor& actor, const wire::Header& header, const wire::Welcome& welcome);
  void Await(const char* what, Actor& actor, const std::function<bool()>& done);
  std::uint64_t applied() const;

  const std::size_t floats_;
  const std::vector<float> gradient_;
  std::vector<std::unique_ptr<wire::Context>> contexts_;
  std::vector<Actor> actors_;
};

}  // namespace starling::bench
