// `starling doctor`: shows this machine, checks that it computes correctly, and lists missing
// parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/gpu.h"
#include "net/backend.h"
#include "net/checks/op_checks.h"

namespace starling::doctor {

// ---- The parts of this machine that Starling uses (machine.cc)

// The result of a search.
struct Search {
  std::string found;     // or ""
  std::string why_none;  // the reason, with a remedy
};

struct Machine {
  std::string program;                // core/version.h's line, with the libraries
  std::string processor;              // "AMD EPYC 9R14"
  std::vector<std::string> features;  // those of kFeatures that it has
  bool bf16 = false;                  // it multiplies bf16 (net/cpu/gemm.h)
  std::int64_t cores = 0;             // usable by this process
  std::uint64_t memory = 0;           // bytes
  GpuSearch gpus;
  std::uint64_t open_files = 0, max_open_files = 0;         // soft and hard limit
  Search runtime_dir;                                       // the root of wire/runtime_dir.h
  std::uint64_t shared_memory = 0, free_shared_memory = 0;  // bytes of its file system
  Search python;                                            // as env.python = "auto" finds it
  std::string gymnasium;                                    // version, or ""
  Search mpi;                                               // mpirun, if ranks can be started
};

inline constexpr const char* kFeatures[] = {"avx2", "avx512f", "avx512_bf16", "amx_bf16"};

// Starts no process and never throws.
Machine InspectMachine();

// Returns the number of actors that the hard limit of open files allows.
std::uint64_t MaxActors(const Machine& machine);

// Returns the hardware of measured figures: "AMD EPYC 9R14, 2 cores, 8 GB of memory; starling 0.1.0
// (release, g++ 12.2, native, ...)", with the name of the first GPU before "; " if `with_gpu`.
std::string HardwareLine(bool with_gpu = false);

// ---- The command

struct DoctorOptions {
  bool json = false;  // print one JSON object instead of the text
};

// Prints to standard output. Returns the exit status: kExitFailed if an op disagrees.
int RunDoctor(const DoctorOptions& options);

// The parts of RunDoctor, for tests.

// A backend to examine.
struct BackendToCheck {
  std::string name;    // "cpu bf16"
  std::string device;  // backends of one device are examined one after the other
  Precision precision = Precision::kF32;
  std::function<std::shared_ptr<net::Backend<float>>()> make;
};

struct OpRow {
  std::string backend;
  net::OpError found;
  std::string failure;  // message of an exception, or ""
  bool ok() const { return failure.empty() && found.ok(); }
};

// Returns all backends that `machine` can run.
std::vector<BackendToCheck> Backends(const Machine& machine);

// Returns a row for each op of each backend, in order. Never throws: an exception is the failure of
// its row, and the other ops are still examined.
std::vector<OpRow> Examine(const std::vector<BackendToCheck>& backends);

struct Diagnosis {
  Machine machine;
  std::vector<OpRow> rows;
  bool ok() const;
};
std::vector<std::string> MissingParts(const Diagnosis& diagnosis);  // sentences
std::string ToText(const Diagnosis& diagnosis);
// {"ok", "machine": {...}, "ops": [{"backend", "op", "ok", "error", "tolerance", ...}],
// "missing": [...]}; an error is null if it is NaN or infinite.
std::string ToJson(const Diagnosis& diagnosis);
int Print(const Diagnosis& diagnosis, const DoctorOptions& options);

}  // namespace starling::doctor
