// In a portable build: ends a program that this processor cannot run, before any other code of it
// runs. This file alone is compiled for every x86-64 processor, so it uses no library of C++.
#include <unistd.h>

#include <cstring>

namespace {

[[gnu::constructor(101)]] void RequireProcessor() {  // the first priority that programs may take
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3") != 0) return;
  const char* const sentence =
      "starling: this processor lacks the instructions of x86-64-v3 (AVX2, FMA), which this "
      "package needs: build starling on this machine instead (scripts/build)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, sentence, std::strlen(sentence));
  ::_exit(2);  // kExitUserError
}

}  // namespace
