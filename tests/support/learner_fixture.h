// A real learner in a thread of the test, with a net of 32 weights, and fake actors to talk to it.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "learner/learner.h"
#include "learner/run_status.h"
#include "tests/support/fake_actor.h"
#include "tests/support/temp_dir.h"

namespace starling {

class LearnerFixture : public testing::Test {
 protected:
  static constexpr std::size_t kFloats = 32;

  LearnerFixture()
      : reload_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), stop_fd_(eventfd(0, EFD_CLOEXEC)) {}
  ~LearnerFixture() override {
    Stop();
    close(stop_fd_);
    close(reload_fd_);
  }

  // SGD with learning rate 1 on weights that start at 0: one update with gradient g makes them -g.
  // One grant an actor.
  Config MakeConfig(const std::string& more = "") {
    return ParseConfig(
        "[run]\nsteps = 1000000\n[actors]\ncount = 2\nenvs_per_actor = 2\nunroll = 2\n"
        "[optimizer]\nkind = \"sgd\"\nlr = 1.0\nlr_schedule = \"constant\"\n"
        "[updates]\nin_flight = 1\n",
        "test.toml", Overrides(more));
  }

  // `more`: overrides, one per line.
  void Start(const std::string& more = "updates.start_with=1", bool resume = false) {
    config_ = MakeConfig(more);
    learner_ = std::make_unique<learner::Learner>(
        config_, SmallNet(floats_),
        learner::LearnerOptions{
            .run_dir = dir_.path(),
            .resume = resume,
            .exact = exact_,
            .stop_fd = stop_fd_,
            .reload_fd = reload_fd_,
            .abandoned = abandoned_,
            .sinks = {.on_status = [this](const auto& s) { OnStatus(s); },
                      .on_published =
                          [this](const auto& published) {
                            const std::lock_guard lock(published_mutex_);
                            published_ =
                                std::make_shared<const learner::PublishedStatus>(published);
                          }},
            .refusals = refusal_limits_});
    thread_ = std::thread([this] { over_ = learner_->Run(); });
  }

  static learner::InitialNet SmallNet(std::size_t floats = kFloats) {
    learner::InitialNet net;
    net.layout.Add("weight", {static_cast<int>(floats)});
    net.initial.assign(net.layout.size(), 0.0f);
    return net;
  }

  // Ends the learner and waits for it; its counters can be looked at then.
  void Stop() {
    if (!thread_.joinable()) return;
    AskToStop();
    Wait();
    eventfd_t count;
    eventfd_read(stop_fd_, &count);
  }
  void AskToStop() { eventfd_write(stop_fd_, 1); }
  void Wait() {
    if (thread_.joinable()) thread_.join();
  }
  // A learner that is gone as after kill -9 leaves its run directory as it is; this one ends
  // orderly, which is enough to start the next.
  void Discard() {
    Stop();
    learner_.reset();
  }

  std::unique_ptr<FakeActor> StartWithActor(const std::string& more = "updates.start_with=1") {
    Start(more);
    return NewActor();
  }
  std::unique_ptr<FakeActor> NewActor(std::int64_t slot = -1) {
    auto actor = NewPeer();
    actor->Join(slot);
    return actor;
  }
  std::unique_ptr<FakeActor> NewPeer(const std::optional<wire::Credentials>& keys = {}) {
    return std::make_unique<FakeActor>(Endpoint(), floats_, keys);
  }
  // A gradient of a new actor, applied.
  void TrainOnce(float value = 0.25f) {
    const auto actor = NewActor();
    actor->Push(actor->NextGrant(), value);
    actor->NextGrant();
  }
  // The private directory of users, and where the learner listens.
  std::filesystem::path root() const { return wire::RuntimeRoot(config_.wire.runtime_dir); }
  std::string Endpoint() const {
    const auto found = wire::RuntimeDir::Find(root(), dir_.path());
    EXPECT_TRUE(found.endpoint) << "the learner has not said where it is";
    return found.endpoint.value_or("ipc:///nowhere");
  }

  // Null before the first.
  std::shared_ptr<const learner::PublishedStatus> LastPublished() {
    const std::lock_guard lock(published_mutex_);
    return published_;
  }

  learner::Checkpoint LastCheckpoint() {
    auto last = learner::LastGood(dir_ / "checkpoints");
    EXPECT_TRUE(last.checkpoint) << testing::PrintToString(last.rejected);
    return last.checkpoint ? *std::move(last.checkpoint) : learner::Checkpoint{};
  }
  const learner::Counters& counters() const { return learner_->counters(); }
  std::uint64_t Dropped(const std::string& reason) const {
    const auto found = counters().dropped.find(reason);
    return found == counters().dropped.end() ? 0 : found->second;
  }

  std::size_t floats_ = kFloats;  // of the learner's net
  TempDir dir_;
  const int reload_fd_;
  bool exact_ = false;  // for Start
  // For Start: asked in every turn of the loop, before messages are read.
  std::function<bool()> abandoned_;
  Config config_;
  learner::RefusalLimits refusal_limits_{};
  std::unique_ptr<learner::Learner> learner_;
  nlohmann::ordered_json final_status_;
  // The first status of a finished run, and the number of checkpoints at that time.
  nlohmann::ordered_json done_status_;
  std::size_t checkpoints_when_done_ = 0;
  std::atomic<int> statuses_{0};  // so many so far
  bool over_ = false;

 private:
  std::mutex published_mutex_;
  std::shared_ptr<const learner::PublishedStatus> published_;

  void OnStatus(const learner::RunStatus& typed) {
    const nlohmann::ordered_json status = learner::ToJson(typed);
    ++statuses_;
    statuses_.notify_all();
    if (status["phase"] == "done" && done_status_.is_null()) {
      done_status_ = status;
      checkpoints_when_done_ = CountCheckpoints();
    }
    if (status["final"]) final_status_ = status;
  }

  // Looks at the names alone: a test may hold up readers.
  std::size_t CountCheckpoints() const {
    const std::filesystem::directory_iterator all(dir_ / "checkpoints");
    return static_cast<std::size_t>(std::count_if(begin(all), end(all), [](const auto& entry) {
      return entry.path().extension() == ".safetensors";
    }));
  }

  std::vector<std::string> Overrides(const std::string& lines) {
    std::vector<std::string> overrides{"wire.runtime_dir=" + runtime_.path().string()};
    std::istringstream all(lines);
    for (std::string line; std::getline(all, line);) overrides.push_back(line);
    return overrides;
  }

  TempDir runtime_;
  int stop_fd_;
  std::thread thread_;
};

}  // namespace starling
