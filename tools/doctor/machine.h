// The parts of this machine that Starling uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/gpu.h"

namespace starling::doctor {

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

}  // namespace starling::doctor
