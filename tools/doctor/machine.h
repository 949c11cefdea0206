// What this machine has of what Starling uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/gpu.h"

namespace starling::doctor {

// A thing that was looked for.
struct Sought {
  std::string found;     // what there is, or ""
  std::string why_none;  // in a sentence with what to do
};

struct Machine {
  std::string program;                // core/version.h's line, with the libraries
  std::string processor;              // "AMD EPYC 9R14"
  std::vector<std::string> features;  // of kFeatures, those that it has
  bool bf16 = false;                  // whether it multiplies bf16 (net/cpu/bfloat16.h)
  int cores = 0;                      // that this process may use
  std::uint64_t memory = 0;           // bytes
  GpuSearch gpus;
  std::uint64_t open_files = 0,
                most_open_files = 0;  // the limit, and how far a process may raise it
  Sought place;                       // wire/runtime_dir.h's root
  std::uint64_t shared_memory = 0, free_shared_memory = 0;  // bytes, where that lies
  Sought python;          // the interpreter of env.python = "auto"
  std::string gymnasium;  // its version there, or ""
};

inline constexpr const char* kFeatures[] = {"avx2", "avx512f", "avx512_bf16", "amx_bf16"};

// Starts nothing and never throws.
Machine LookAtMachine();

// How many actors on this machine the limit of open files allows.
std::uint64_t MostActors(const Machine& machine);

// "AMD EPYC 9R14, 2 cores, 8 GB of memory; starling 0.1.0 (release, g++ 12.2, native, ...)", for
// figures: what they were measured on; the name of the first GPU comes before "; " if `with_gpu`.
std::string HardwareLine(bool with_gpu = false);

}  // namespace starling::doctor
