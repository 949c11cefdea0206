// starling: train, eval, conform, envs, doctor and the others (programs/cli.cc).
#include "core/process.h"
#include "programs/cli.h"

int main(int argc, char** argv) {
  starling::OccupyStandardDescriptors();
  return starling::programs::RunCommandLine(argc, argv);
}
