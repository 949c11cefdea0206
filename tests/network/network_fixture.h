// A learner on a tcp port of 127.0.0.1 and actors that reach it directly or through a bad network;
// the progress of the run meanwhile, and its invariants in the end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/proxy.h"
#include "tests/network/invariants.h"
#include "tests/system/run_fixture.h"

namespace starling {

using bench::Direction, bench::Proxy, bench::Way;

class NetworkTest : public RunTest {
 protected:
  // A deadline against tests that hang: the waits take seconds on an idle machine.
  static constexpr std::chrono::seconds kSoon{60};
  // Silent peers are given up soon, and the metrics are fresh.
  static inline const Strings kQuick = {"wire.timeout_s=3", "wire.heartbeat_ms=100",
                                        "staleness.deadline_s=3", "run.metrics_s=0.2"};

  ~NetworkTest() override {
    if (!HasFailure()) return;
    if (learner_) std::cerr << "---- the learner said:\n" << learner_->err();
    for (const auto& actor : actors_) std::cerr << "---- an actor said:\n" << actor->err();
  }

  // Endless, unless `settings` say something else. False if it did not come up.
  bool StartLearner(const Strings& settings, const std::string& endpoint = "tcp://127.0.0.1:0") {
    const Strings all = {"wire.endpoint=" + endpoint, Steps(kEndless),
                         "checkpoint.every_steps=100000000"};
    Strings words = TrainWords(Plus(all, settings));
    words.erase(words.begin());  // "train"
    learner_ = StartIn(learner_prefix_, "starling-learner", words);
    const std::string found = AwaitEndpoint(*learner_);
    if (!found.empty()) {
      port_ = static_cast<std::uint16_t>(std::stoi(found.substr(found.rfind(':') + 1)));
    }
    return port_ != 0;
  }
  std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

  Process& StartActor(const std::string& endpoint, const Strings& more = {}) {
    actors_.push_back(
        StartIn(actor_prefix_, "starling-actor", Plus({"--connect", endpoint}, more)));
    return *actors_.back();
  }
  bool Until(const std::function<bool()>& condition, std::chrono::milliseconds patience = kSoon) {
    return Eventually([&] { return condition() || !learner_->Running(); }, patience) &&
           learner_->Running();
  }
  // So often in all.
  bool AwaitSaid(const std::string& text, std::size_t times = 1) {
    return Until([&] { return CountSaid(*learner_, text) >= times; });
  }
  bool AwaitJoins(std::size_t joins) { return AwaitSaid(" joined (pid ", joins); }
  static std::size_t CountSaid(const Process& process, const std::string& text) {
    return CountIn(process.err(), text);
  }

  // The last whole line of metrics.jsonl.
  json Metrics() const {
    const std::string text = TextOf(run() / "metrics.jsonl");
    const std::size_t end = text.rfind('\n');
    if (end == std::string::npos || end == 0) return {};
    const std::size_t before = text.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return json::parse(text.substr(begin, end - begin), nullptr, false);
  }
  std::uint64_t StepsDone() const {
    const json metrics = Metrics();
    return metrics.is_object() ? metrics["steps"].get<std::uint64_t>() : 0;
  }
  std::uint64_t Refused(const std::string& reason) const {
    const json metrics = Metrics();
    return metrics.is_object() ? metrics["frames_refused"].value(reason, std::uint64_t{0}) : 0;
  }
  // Training goes on: two reports later there are more steps.
  bool GoesOn() {
    const std::uint64_t before = StepsDone();
    std::uint64_t between = 0;
    return Until([&] { return (between = StepsDone()) > before; }) &&
           Until([&] { return StepsDone() > between; });
  }

  // Bytes of memory that a process has.
  static std::uint64_t Resident(pid_t pid) {
    const std::string text = TextOf("/proc/" + std::to_string(pid) + "/status");
    const std::size_t at = text.find("VmRSS:");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 6)) * 1024;
  }
  // The learner has at most so many bytes more than it had.
  void ExpectGrownAtMost(std::uint64_t before, std::uint64_t bytes) const {
    ExpectAtMost(Resident(learner_->pid()), before + bytes);
  }
  // AddressSanitizer keeps freed memory.
  static void ExpectAtMost(std::uint64_t resident, std::uint64_t bytes) {
#ifdef __SANITIZE_ADDRESS__
    (void)resident, (void)bytes;
#else
    EXPECT_LE(resident, bytes);
#endif
  }
  static std::size_t Descriptors(pid_t pid) {
    std::error_code ignored;
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& fd :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored)) {
      ++count;
    }
    return count;
  }

  // Ends the run by hand and holds it to the invariants.
  // `queued`: bytes that queues beside those of the actors were filled with.
  RunFacts Finish(std::uint64_t queued = 0) {
    const std::uint64_t resident = Resident(learner_->pid());
    learner_->Signal(SIGINT);
    const RunFacts facts = AwaitEnd(130);
    // Program and libraries; three versions of the weights, the weights and the optimizer's state
    // of each; an actor's queues: eight gradients to us and one under way, eight times weights to
    // it.
    const std::uint64_t numbers = facts.weights * (3 + 1 + 2 + actors_.size() * (9 + 8));
    ExpectAtMost(resident, 64'000'000 + 4 * numbers + queued);
    return facts;
  }
  // Of a run that ends by itself: status 0.
  RunFacts AwaitEnd(int status = 0) {
    EXPECT_EQ(WaitFor(*learner_), status);
    for (const auto& actor : actors_) EXPECT_EQ(WaitFor(*actor), 0) << actor->err();
    const RunFacts facts = CheckRun(run());
    EXPECT_THAT(facts.broken, testing::IsEmpty());
    EXPECT_GT(facts.applied, 0u);
    ExpectSound(Summary());
    ExpectNothingLeft();
    return facts;
  }

  // Strings before those of a program: {"/sbin/ip", "netns", "exec", NAME}.
  Strings learner_prefix_, actor_prefix_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> learner_;
  std::vector<std::unique_ptr<Process>> actors_;

 private:
  std::unique_ptr<Process> StartIn(const Strings& prefix, const std::string& program,
                                   Strings words) {
    if (prefix.empty()) return Start(program, std::move(words));
    words.insert(words.begin(), (std::filesystem::path(STARLING_BIN) / program).string());
    words.insert(words.begin(), prefix.begin() + 1, prefix.end());
    return std::make_unique<Process>(
        Launch{.program = prefix.front(),
               .arguments = std::move(words),
               .directory = dir_.path(),
               .output = dir_ / (program + "-in-" + std::to_string(actors_.size()))});
  }
};

}  // namespace starling
