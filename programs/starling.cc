// starling: train, eval, conform, envs, doctor and the others (programs/cli.cc).
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

#include "core/process.h"
#include "programs/cli.h"

namespace {

// The Python package names itself so: its runs must not outlive it, however it ends.
void EndWithParent() {
  const char* const parent = std::getenv("STARLING_PARENT");
  if (parent == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != std::atoi(parent)) ::raise(SIGTERM);  // it has ended already
  ::unsetenv("STARLING_PARENT");
}

}  // namespace

int main(int argc, char** argv) {
  EndWithParent();
  starling::OccupyStandardDescriptors();
  return starling::programs::RunCommandLine(argc, argv);
}
