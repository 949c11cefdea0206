// `starling doctor`: shows this machine, checks that it computes correctly, and lists missing
// parts.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/examine.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

struct DoctorOptions {
  bool json = false;  // print one JSON object instead of the text
};

// Prints to standard output. Returns the exit status: kExitFailed if an op disagrees.
int RunDoctor(const DoctorOptions& options);

// The parts of RunDoctor, for tests.
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
