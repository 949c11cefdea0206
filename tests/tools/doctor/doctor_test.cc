// `starling doctor`: its findings, its output and its exit status.
#include "tools/doctor/doctor.h"

#include <gmock/gmock.h>

#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"
#include "tests/support/fleet_fixtures.h"

namespace starling::doctor {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A machine that lacks nothing.
Machine Complete() {
  return {.program = "starling 0.1.0 (release)",
          .processor = "A processor",
          .features = {"avx2", "amx_bf16"},
          .bf16 = true,
          .cores = 8,
          .memory = 32'000'000'000,
          .gpus = {.gpus = {{.name = "A GPU",
                             .memory = 80'000'000'000,
                             .major = 9,
                             .minor = 0,
                             .multiprocessors = 132}},
                   .why_none = "",
                   .driver = "driver for CUDA 12.8, runtime 13.0"},
          .open_files = 1024,
          .max_open_files = 65536,
          .runtime_dir = {.found = "/dev/shm/starling-7", .why_none = ""},
          .shared_memory = 8'000'000'000,
          .free_shared_memory = 4'000'000'000,
          .python = {.found = "/usr/bin/python3", .why_none = ""},
          .gymnasium = "1.4.0",
          .mpi = {.found = "/usr/bin/mpirun", .why_none = ""}};
}

Check Agrees(const std::string& what) {
  return {what, [] {
            return Verdict{.agrees = true,
                           .text = "3.1e-07 of 3e-06",
                           .numbers = {{"error", 3.1e-7}, {"tolerance", 3e-6}}};
          }};
}

Check Disagrees(const std::string& what) {
  return {what, [] {
            return Verdict{.agrees = false,
                           .text = "inf of 0, y of 1x1",
                           .numbers = {{"error", std::numeric_limits<double>::infinity()}}};
          }};
}

Check Throws(const std::string& what) {
  return {what, []() -> Verdict { throw std::runtime_error("it failed"); }};
}

// What Diagnose prints of a complete machine with these checks, and its exit status.
struct Printed {
  int status = 0;
  std::string text;
};
Printed Print(const std::vector<CheckGroup>& groups, const DoctorOptions& options = {},
              const Machine& machine = Complete()) {
  testing::internal::CaptureStdout();
  const Diagnosed diagnosed = Diagnose(machine, groups, options);
  return {diagnosed.status, testing::internal::GetCapturedStdout()};
}

TEST(DoctorTest, TextHasTheMachineAndALineForEachCheck) {
  const Printed printed =
      Print({{"ops", "cpu", {}, {Agrees("loss")}},
             {"ops", "cpu bf16", {}, {Agrees("loss")}},
             {"games", "cuda", {}, {Agrees("catch, minimal actions"), Agrees("dummy")}}});
  EXPECT_EQ(printed.status, kExitDone);
  for (const char* part :
       {"A processor, 8 cores to use, avx2 amx_bf16\n", "32.0 GB", "0: A GPU, 80.0 GB",
        "compute capability 9.0", "driver for CUDA 12.8, runtime 13.0", "1024, at most 65536",
        "/dev/shm/starling-7, 8.0 GB, 4.0 GB of it free", "/usr/bin/python3", "1.4.0",
        "/usr/bin/mpirun",
        "\nops, beside the reference: the largest error, relative, and the tolerance\n"
        "cpu         loss   ok 3.1e-07 of 3e-06\n"
        "cpu bf16    loss   ok 3.1e-07 of 3e-06\n",
        "\ngames, on a GPU beside the same on the host\n"
        "cuda        catch, minimal actions  ok 3.1e-07 of 3e-06\n"
        "cuda        dummy                   ok 3.1e-07 of 3e-06\n",
        "Nothing is missing.\n"}) {
    EXPECT_THAT(printed.text, HasSubstr(part));
  }
}

TEST(DoctorTest, TextNamesWhatDoesNotAgree) {
  const Printed printed = Print({{"ops", "cpu", {}, {Agrees("loss"), Disagrees("gather")}},
                                 {"rollouts", "cuda", {}, {Throws("a net, twice")}}});
  EXPECT_EQ(printed.status, kExitFailed);
  EXPECT_THAT(printed.text, AllOf(HasSubstr("cpu         gather  WRONG inf of 0, y of 1x1\n"),
                                  HasSubstr("cuda        a net, twice  FAILED: it failed\n"),
                                  HasSubstr("every check of cpu, cuda must agree")));
}

TEST(DoctorTest, JsonHasTheSame) {
  const Printed printed = Print({{"ops", "cpu", {}, {Agrees("loss"), Disagrees("keep state")}},
                                 {"games", "cuda", {}, {Throws("catch")}}},
                                {.json = true});
  EXPECT_EQ(printed.status, kExitFailed);
  const auto json = nlohmann::json::parse(printed.text);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["machine"]["gpus"][0]["compute_capability"], "9.0");
  EXPECT_EQ(json["machine"]["most_open_files"], 65536);
  const auto& checks = json["checks"];
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[0]["kind"], "ops");
  EXPECT_EQ(checks[0]["device"], "cpu");
  EXPECT_EQ(checks[0]["what"], "loss");
  EXPECT_EQ(checks[0]["ok"], true);
  EXPECT_EQ(checks[0]["error"], 3.1e-7);
  EXPECT_EQ(checks[0]["tolerance"], 3e-6);
  EXPECT_TRUE(checks[1]["error"].is_null());
  EXPECT_EQ(checks[1]["ok"], false);
  EXPECT_EQ(checks[2]["problem"], "it failed");
  EXPECT_EQ(json["missing"].size(), 1u);
}

// A machine without a GPU is complete, unless one is asked for.
TEST(DoctorTest, AWantedGpuThatIsAbsentIsAFailure) {
  Machine machine = Complete();
  machine.gpus = {.gpus = {}, .why_none = "no driver: install one", .driver = ""};
  const std::vector<CheckGroup> groups = {{"ops", "cpu", {}, {Agrees("loss")}}};
  EXPECT_EQ(Print(groups, {}, machine).status, kExitDone);
  const Printed printed = Print(groups, {.json = true, .gpu = true}, machine);
  EXPECT_EQ(printed.status, kExitFailed);
  const auto json = nlohmann::json::parse(printed.text);
  EXPECT_EQ(json["ok"], false);
  EXPECT_THAT(json["missing"], Contains(HasSubstr("no driver: install one")));
}

// What was found before is printed all the same, and the exit status says that something is wrong.
TEST(DoctorTest, ACheckThatHangsIsNamedInJson) {
  std::promise<void> release;
  const Check hangs{"loss", [until = release.get_future().share()]() -> Verdict {
                      until.wait();
                      return {};
                    }};
  testing::internal::CaptureStdout();
  Diagnosed diagnosed = Diagnose(Complete(), {{"ops", "cuda", {}, {hangs, Agrees("gather")}}},
                                 {.json = true, .limit_s = 0});
  const std::string text = testing::internal::GetCapturedStdout();
  release.set_value();
  ASSERT_TRUE(diagnosed.hanging.joinable());
  diagnosed.hanging.join();
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(diagnosed.status, kExitFailed);
  ASSERT_EQ(json["checks"].size(), 1u);
  EXPECT_EQ(json["checks"][0]["what"], "loss");
  EXPECT_THAT(json["checks"][0]["problem"].get<std::string>(), StartsWith("it hangs"));
}

TEST(DoctorTest, SaysWhatIsMissingForWhat) {
  // Everything that is optional is missing.
  Machine bare = Complete();
  bare.gpus = {.gpus = {}, .why_none = "no driver: install one", .driver = ""};
  bare.bf16 = false;
  bare.max_open_files = 256;
  bare.free_shared_memory = 64'000'000;
  bare.gymnasium = "";
  bare.mpi = {.found = "", .why_none = "no mpirun"};
  const auto missing = MissingParts({.machine = bare, .rows = {}});
  EXPECT_THAT(missing, testing::SizeIs(6));
  EXPECT_THAT(missing, Contains(AllOf(HasSubstr("actors.backend = \"cpu\""),
                                      HasSubstr("no driver: install one."))));
  EXPECT_THAT(missing, Contains(HasSubstr("net.precision")));
  EXPECT_THAT(missing, Contains(AllOf(StartsWith("For more than"), HasSubstr("ulimit"))));
  EXPECT_THAT(missing, Contains(HasSubstr("64 MB are free at /dev/shm/starling-7")));
  EXPECT_THAT(missing, Contains(HasSubstr("scripts/setup --gym")));
  EXPECT_THAT(missing, Contains("For runs without a learner: no mpirun."));

  bare.runtime_dir = {.found = "", .why_none = "nowhere"};
  bare.python = {.found = "", .why_none = "no Python"};
  EXPECT_THAT(MissingParts({.machine = bare, .rows = {}}),
              AllOf(Contains(HasSubstr("nowhere")), Contains(HasSubstr("no Python"))));
}

TEST(DoctorTest, ThisMachine) {
  const Machine machine = InspectMachine();
  EXPECT_THAT(machine.program, StartsWith("starling "));
  EXPECT_THAT(machine.processor, Not(IsEmpty()));
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory, 0u);
  EXPECT_EQ(machine.gpus.gpus.empty(), !machine.gpus.why_none.empty());
  EXPECT_GT(machine.max_open_files, 0u);
  EXPECT_EQ(machine.runtime_dir.found.empty(), !machine.runtime_dir.why_none.empty());
  EXPECT_EQ(machine.python.found.empty(), !machine.python.why_none.empty());
  EXPECT_THAT(HardwareLine(), AllOf(StartsWith(machine.processor), HasSubstr(machine.program)));
}

TEST(DoctorTest, TheProgramAnswersProgramsOnStandardOutput) {
  const TempDir dir;
  const Finished finished =
      RunProgram(dir, {STARLING_PROGRAM, "doctor", "--json", "--only", "cpu: l"});
  EXPECT_EQ(finished.status, kExitDone) << finished.out;
  EXPECT_THAT(finished.err, HasSubstr("loss")) << "which ones are done, if one aborts";
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["ok"], true);
  EXPECT_GE(json["checks"].size(), 8u);
  for (const auto& check : json["checks"]) {
    EXPECT_THAT(check["what"].get<std::string>(), AnyOf("start", StartsWith("l")));
  }
}

TEST(DoctorTest, TheProgramFailsWithoutTheGpuThatIsWanted) {
  if (!FindGpus().gpus.empty()) GTEST_SKIP() << "there is a GPU";
  const TempDir dir;
  const Finished finished =
      RunProgram(dir, {STARLING_PROGRAM, "doctor", "--json", "--gpu", "--only", "ops: cuda"});
  EXPECT_EQ(finished.status, kExitFailed);
  EXPECT_THAT(finished.out, HasSubstr("For actors on a GPU"));
}

TEST(DoctorTest, TheProgramRefusesAnEmptyChoice) {
  const TempDir dir;
  const Finished finished = RunProgram(dir, {STARLING_PROGRAM, "doctor", "--only", "opps"});
  EXPECT_EQ(finished.status, kExitUserError);
  EXPECT_THAT(finished.err, HasSubstr("no check has \"opps\" in its name"));
}

// Gymnasium is found where the interpreter's packages lie, without starting it.
TEST(DoctorTest, FindsGymnasiumBesideTheInterpreter) {
  const TempDir dir;
  const auto venv = dir.path() / "venv";
  std::filesystem::create_directories(venv / "bin");
  std::filesystem::create_directories(venv /
                                      "lib/python3.11/site-packages/gymnasium-9.8.7.dist-info");
  const auto python = venv / "bin" / "python";
  std::ofstream(python) << "#!/bin/false\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const Finished finished =
      RunProgram(dir, {STARLING_PROGRAM, "doctor", "--json", "--only", "loss"},
                 {"STARLING_PYTHON=" + python.string()});
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["machine"]["python"], python.string());
  EXPECT_EQ(json["machine"]["gymnasium"], "9.8.7");
}

}  // namespace
}  // namespace starling::doctor
