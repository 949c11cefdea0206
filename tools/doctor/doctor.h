// `starling doctor`: what this machine has, whether it computes correctly, and what is missing for what.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/examine.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

struct DoctorOptions {
  bool json = false;  // one object for programs, instead of the text
};

// Prints to standard output. Returns the exit status: failed if an op does not agree.
int RunDoctor(const DoctorOptions& options);

// Of which it is made, for tests.
struct Diagnosis {
  Machine machine;
  std::vector<OpRow> rows;
  bool ok() const;
};
std::vector<std::string> WhatIsMissing(const Diagnosis& diagnosis);  // sentences
std::string ToText(const Diagnosis& diagnosis);
// {"ok", "machine": {...}, "ops": [{"backend", "op", "ok", "error", "tolerance", ...}], "missing": [...]};
// an error is null if it is no number.
std::string ToJson(const Diagnosis& diagnosis);
int Print(const Diagnosis& diagnosis, const DoctorOptions& options);

}  // namespace starling::doctor
