// One run of Starling per test, in a directory of its own: started, observed from outside (files,
// log, process table), and checked for the properties of every run.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/count_in.h"
#include "tests/support/own_disk.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace starling {

using Strings = std::vector<std::string>;
using nlohmann::json;

class RunTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kSamples = 32 * 5;  // of one gradient, as shipped
  // Steps that take seconds, so that a checkpoint is on the disk, even a slow one, well before the
  // end. Where a test ends the run itself it asks for kEndless.
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::uint64_t kSeconds = 240'000;
#else
  static constexpr std::uint64_t kSeconds = 3'200'000;
#endif
  static constexpr std::uint64_t kEndless = 1'000'000'000;
  const std::string config_ = std::string(STARLING_SOURCE_DIR) + "/configs/catch.toml";

  RunTest() { std::filesystem::create_directory(runtime()); }
  ~RunTest() override {
    if (HasFailure()) std::cerr << "---- the run's log:\n" << Log() << "----\n";
    // Only after a failure is anything of this test still there.
    for (const Running& process : ProcessesNaming(dir_.path().string())) kill(process.pid, SIGKILL);
    std::error_code ignored;
    std::filesystem::remove_all(dir_.path(), ignored);
  }

  std::filesystem::path run() const { return dir_ / "run"; }
  std::filesystem::path runtime() const { return dir_ / "rt"; }

  // Any of our programs, or another by its path, in the test's directory.
  std::unique_ptr<Process> Start(const std::string& program, Strings words,
                                 std::optional<rlim_t> file_size_limit = {},
                                 const Strings& environment = {}) {
    return std::make_unique<Process>(Launch{
        .program = std::filesystem::path(STARLING_BIN) / program,
        .arguments = std::move(words),
        .directory = dir_.path(),
        .output = dir_ /
                  (std::filesystem::path(program).filename().string() + std::to_string(++started_)),
        .file_size_limit = file_size_limit,
        .environment = environment});
  }

  // First `words`, then `more`.
  static Strings Plus(Strings words, const Strings& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string Steps(std::uint64_t steps) { return fmt::format("run.steps={}", steps); }

  // `settings` are "section.key=value"; `name`: of the run directory, in the test's own.
  Strings TrainWords(const Strings& settings, const std::string& name = "run") const {
    Strings words = {"train", config_, "--run-dir", (dir_ / name).string()};
    AddSettings(settings, words);
    return words;
  }
  Strings ResumeWords(const Strings& settings = {}) const {
    Strings words = {"train", "--resume", run().string()};
    AddSettings(settings, words);
    return words;
  }
  std::unique_ptr<Process> StartTrain(const Strings& settings, const Strings& environment = {}) {
    return Start("starling", TrainWords(settings), {}, environment);
  }
  int Train(const Strings& settings) { return WaitFor(*StartTrain(settings)); }
  // A learner without a supervisor: of a new run, as scripts/launch-learner starts it, or of the
  // run that exists.
  std::unique_ptr<Process> StartLearner(const Strings& settings) {
    Strings words = TrainWords(settings);
    words.erase(words.begin());  // "train"
    return Start("starling-learner", words);
  }
  std::unique_ptr<Process> ResumeLearner() {
    return Start("starling-learner", {"--run-dir", run().string(), "--resume"});
  }
  // An actor that looks for the learner in the run directory.
  std::unique_ptr<Process> StartActor(const Strings& more = {}) {
    const Strings where = {"--run-dir", run().string(), "--runtime-dir", runtime().string()};
    return Start("starling-actor", Plus(where, more));
  }
  // Returns the exit status; a failing test shows the output.
  int WaitFor(Process& process) {
    const int status = process.Wait();
    said_ += process.err();
    return status;
  }
  // All of them end with status 0, awaited in this order.
  template <class... Processes>
  void ExpectAllEnd(Processes&... processes) {
    for (Process* process : {processes.get()...}) EXPECT_EQ(WaitFor(*process), 0) << said_;
  }
  // Ends a run as Ctrl-C does, and returns its summary.
  json Interrupt(Process& run, int signal = SIGINT) {
    run.Signal(signal);
    EXPECT_EQ(WaitFor(run), 130) << said_;
    const json summary = Summary();
    ExpectSound(summary);
    ExpectNothingLeft();
    return summary;
  }

  std::string Log() const { return TextOf(run() / "log"); }
  bool LogHas(const std::string& text) const { return Log().find(text) != std::string::npos; }
  json Summary() const { return json::parse(TextOf(run() / "summary.json"), nullptr, false); }

  // File names, oldest first.
  std::vector<std::string> Checkpoints() const { return CheckpointsOf(run()); }
  static std::vector<std::string> CheckpointsOf(const std::filesystem::path& run) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoints", ignored)) {
      if (entry.path().extension() == ".safetensors") names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }
  // Every actor has joined: from now on there is training.
  bool AwaitActors(Process& train, std::size_t actors) {
    return Eventually([&] { return CountInLog(" joined (pid ") >= actors || !train.Running(); }) &&
           train.Running();
  }
  std::size_t CountInLog(const std::string& text) const { return CountIn(Log(), text); }
  // Waits for `text` in the run's log, or on a process' standard error; false if it ends without.
  bool AwaitLog(Process& train, const std::string& text) const {
    return Eventually([&] { return LogHas(text) || !train.Running(); }) && LogHas(text);
  }
  static bool AwaitSaid(Process& process, const std::string& text) {
    const auto said = [&] { return process.err().find(text) != std::string::npos; };
    return Eventually([&] { return said() || !process.Running(); }) && said();
  }
  // Where a learner over tcp listens: "tcp://127.0.0.1:PORT"; "" if it does not.
  static std::string AwaitEndpoint(Process& learner) {
    const std::string before = "listening on ";
    std::string endpoint;
    Eventually([&] {
      const std::string said = learner.err();
      const std::size_t at = said.find(before),
                        end = said.find_first_of("\n ;,", at + before.size());
      if (at == std::string::npos || end == std::string::npos) return !learner.Running();
      endpoint = said.substr(at + before.size(), end - at - before.size());
      return true;
    });
    return endpoint;
  }
  // Weights were updated and saved: the run is well under way.
  static bool HasWeights(const std::filesystem::path& run) {
    const auto names = CheckpointsOf(run);
    return !names.empty() && names.back().find("-v000000000000.") == std::string::npos;
  }
  bool AwaitCheckpoint(Process& train) {
    return Eventually([&] { return HasWeights(run()) || !train.Running(); }) && train.Running();
  }

  // Fills the disk of the run until a checkpoint has failed, makes room, and awaits the next.
  // REQUIRES: it is an OwnDisk.
  bool OutlivesAFullDisk(Process& train) {
    static const std::regex failed("no checkpoint of version [0-9]+: .*No space left on device");
    const std::filesystem::path filler = run() / "filler";
    const bool said = Eventually([&] {
      OwnDisk::Fill(filler);
      return std::regex_search(train.err(), failed) || !train.Running();
    });
    std::filesystem::remove(filler);
    const std::string last = Checkpoints().back();
    return said && Eventually([&] { return Checkpoints().back() > last || !train.Running(); }) &&
           train.Running();
  }

  std::vector<Running> Find(const std::string& program) const {
    std::vector<Running> found = ProcessesNaming(run().string());
    std::erase_if(found, [&](const Running& process) { return process.program != program; });
    return found;
  }
  // The process of slot `slot`, 0 if there is none.
  pid_t ActorPid(int slot) const {
    for (const Running& actor : Find("starling-actor")) {
      if (actor.After("--slot") == std::to_string(slot)) return actor.pid;
    }
    return 0;
  }
  pid_t LearnerPid() const {
    const auto learners = Find("starling-learner");
    return learners.empty() ? 0 : learners.front().pid;
  }
  // kill -9; false if there is none.
  bool KillLearner() const {
    const pid_t learner = LearnerPid();
    return learner > 0 && kill(learner, SIGKILL) == 0;  // 0 would be all of us
  }

  // kill -9 of an actor, then of the learner. Returns whether the next learner saves.
  bool OutlivesAnActorAndTheLearner() const {
    const auto actors = Find("starling-actor");
    return !actors.empty() && kill(actors[0].pid, SIGKILL) == 0 && KillLearner() &&
           Eventually([&] { return Checkpoints().back().starts_with("t0002-"); });
  }

  // No process is left, and of the run's named objects only the lock of the runtime directory.
  void ExpectNothingLeft() const {
    for (const Running& process : ProcessesNaming(dir_.path().string())) {
      ADD_FAILURE() << process.program << " (pid " << process.pid << ") is left";
    }
    ExpectRuntimeEmpty();
  }
  void ExpectRuntimeEmpty() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(runtime())) {
      const std::filesystem::path parent = entry.path().parent_path();
      const bool expected = parent == runtime() || (parent.parent_path() == runtime() &&
                                                    entry.path().filename() == "lock");
      EXPECT_TRUE(expected) << entry.path() << " is left";
    }
  }

  // Checks the properties of every summary.
  void ExpectSound(const json& summary) const {
    ASSERT_TRUE(summary.is_object()) << "no summary";
    const json& gradients = summary["gradients"];
    const auto received = gradients["received"].get<std::uint64_t>();
    const auto applied = gradients["applied"].get<std::uint64_t>();
    std::uint64_t dropped = 0;
    for (const auto& count : gradients["dropped"]) dropped += count.get<std::uint64_t>();
    EXPECT_GE(received, applied + dropped);
    EXPECT_LE(received, applied + dropped + 32) << "so many cannot be in flight";
    EXPECT_LE(gradients["merged"], applied);
    EXPECT_LE(summary["updates"], applied);
    if (!summary.contains("reuse")) {
      EXPECT_EQ(summary["steps"], applied * kSamples);
    }
    EXPECT_EQ(summary["frames"], summary["steps"]);

    const json& staleness = summary["staleness"];
    const auto histogram = staleness["histogram"].get<std::vector<std::uint64_t>>();
    EXPECT_EQ(std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0}), applied);
    double sum = 0;
    for (std::size_t tau = 0; tau < histogram.size(); ++tau) {
      sum += static_cast<double>(tau) * static_cast<double>(histogram[tau]);
    }
    if (histogram.size() <= 4096) {  // beyond that the last bin is "so much and more"
      if (applied > 0) {
        EXPECT_EQ(staleness["max"], histogram.size() - 1);
        EXPECT_NEAR(staleness["mean"].get<double>(), sum / static_cast<double>(applied), 1e-6);
      }
    }
    if (staleness["bound"].is_number()) {
      EXPECT_LE(staleness["max"], staleness["bound"]);
    } else {
      EXPECT_EQ(staleness["bound"], "unbounded");
    }
  }

  // A run that has come to its end: status 0, all steps, a final checkpoint, nothing left.
  void ExpectDone(int status, std::uint64_t steps) const {
    EXPECT_EQ(status, 0) << said_;
    const json summary = Summary();
    ExpectSound(summary);
    if (!summary.is_object()) return;
    EXPECT_GE(summary["steps"], steps);
    EXPECT_GT(summary["steps_per_second"], 0.0);
    ExpectFinalCheckpoint(summary);
    // Whatever was killed meanwhile: one version for each update.
    EXPECT_THAT(summary["final_checkpoint"].get<std::string>(),
                testing::EndsWith(
                    fmt::format("-v{:012}.safetensors", summary["updates"].get<std::uint64_t>())));
    ExpectNothingLeft();
  }
  void ExpectFinalCheckpoint(const json& summary) const {
    ASSERT_TRUE(summary["final_checkpoint"].is_string());
    const std::string name = summary["final_checkpoint"];
    EXPECT_TRUE(std::filesystem::is_regular_file(run() / name)) << name;
    ASSERT_FALSE(Checkpoints().empty());
    EXPECT_EQ(name, "checkpoints/" + Checkpoints().back());
  }

  TempDir dir_;
  std::string said_;

 private:
  void AddSettings(const Strings& settings, Strings& words) const {
    words.insert(words.end(), {"--set", "wire.runtime_dir=" + runtime().string()});
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  }

  int started_ = 0;
};

}  // namespace starling
