// `starling doctor`: its findings, its output and its exit status.
#include "tools/doctor/doctor.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/support/broken_backend.h"
#include "tests/support/fleet_fixtures.h"

namespace starling::doctor {
namespace {

using net::testing::BrokenBackend;
using net::testing::Fault;
using testing::AllOf;
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

BackendToCheck Broken(const std::string& name, const std::string& op, Fault fault) {
  return {.name = name, .device = name, .precision = Precision::kF32, .make = [=] {
            return std::make_shared<BrokenBackend>(op, fault);
          }};
}

OpRow Row(const std::string& op, double error, double tolerance) {
  return {.backend = "cpu",
          .found = {.op = op, .error = error, .tolerance = tolerance, .where = "y of 1x1"},
          .failure = ""};
}

int Printed(const Diagnosis& diagnosis, const DoctorOptions& options, std::string& text) {
  testing::internal::CaptureStdout();
  const int status = Print(diagnosis, options);
  text = testing::internal::GetCapturedStdout();
  return status;
}

TEST(DoctorTest, TextHasTheMachineAndALineForEachOp) {
  const Diagnosis diagnosis{.machine = Complete(), .rows = {Row("loss", 3.1e-7, 3e-6)}};
  std::string text;
  EXPECT_EQ(Printed(diagnosis, {}, text), kExitDone);
  for (const char* part :
       {"A processor, 8 cores to use, avx2 amx_bf16\n", "32.0 GB", "0: A GPU, 80.0 GB",
        "compute capability 9.0", "driver for CUDA 12.8, runtime 13.0", "1024, at most 65536",
        "/dev/shm/starling-7, 8.0 GB, 4.0 GB of it free", "/usr/bin/python3", "1.4.0",
        "/usr/bin/mpirun", "cpu         loss                      ok 3.1e-07 of 3e-06\n",
        "Nothing is missing.\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(DoctorTest, JsonHasTheSame) {
  const double no_number = std::numeric_limits<double>::infinity();
  const Diagnosis diagnosis{.machine = Complete(),
                            .rows = {Row("loss", 3.1e-7, 3e-6), Row("keep state", no_number, 0)}};
  std::string text;
  EXPECT_EQ(Printed(diagnosis, {.json = true}, text), kExitFailed);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["machine"]["gpus"][0]["compute_capability"], "9.0");
  EXPECT_EQ(json["machine"]["most_open_files"], 65536);
  EXPECT_EQ(json["ops"][0]["op"], "loss");
  EXPECT_EQ(json["ops"][0]["error"], 3.1e-7);
  EXPECT_EQ(json["ops"][0]["ok"], true);
  EXPECT_TRUE(json["ops"][1]["error"].is_null());
  EXPECT_EQ(json["ops"][1]["ok"], false);
  EXPECT_EQ(json["missing"].size(), 1u);
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

// Each backend is on its own: a broken one does not affect the others.
TEST(DoctorTest, ABrokenBackendIsNamedAndTheOthersStillRun) {
  const BackendToCheck unable{.name = "absent", .device = "absent", .make = [] {
                                throw UserError("there is none");
                                return std::shared_ptr<net::Backend<float>>();
                              }};
  Diagnosis diagnosis{.machine = Complete(),
                      .rows = Examine({Broken("good", "", Fault::kThrows),
                                       Broken("wrong", "loss", Fault::kLeavesTheLast),
                                       Broken("throws", "advantages", Fault::kThrows), unable})};
  const std::size_t ops = net::OpChecks().size();
  ASSERT_EQ(diagnosis.rows.size(), 3 * ops + 1);
  for (const OpRow& row : diagnosis.rows) {
    const bool bad = (row.backend == "wrong" && row.found.op == "loss") ||
                     (row.backend == "throws" && row.found.op == "advantages") ||
                     row.backend == "absent";
    EXPECT_EQ(row.ok(), !bad) << row.backend << ", " << row.found.op;
  }
  std::string text;
  EXPECT_EQ(Printed(diagnosis, {}, text), kExitFailed);
  EXPECT_THAT(text,
              AllOf(HasSubstr("throws      advantages                FAILED: the op failed\n"),
                    HasSubstr("wrong       loss                      WRONG "),
                    HasSubstr("absent      start                     FAILED: there is none\n"),
                    HasSubstr("absent, throws, wrong must agree")));
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
  const Finished finished = RunProgram(dir, {STARLING_PROGRAM, "doctor", "--json"});
  EXPECT_EQ(finished.status, kExitDone) << finished.out;
  EXPECT_THAT(finished.err, IsEmpty());
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["ok"], true);
  EXPECT_GE(json["ops"].size(), net::OpChecks().size());
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
  const Finished finished = RunProgram(dir, {STARLING_PROGRAM, "doctor", "--json"},
                                       {"STARLING_PYTHON=" + python.string()});
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["machine"]["python"], python.string());
  EXPECT_EQ(json["machine"]["gymnasium"], "9.8.7");
}

}  // namespace
}  // namespace starling::doctor
