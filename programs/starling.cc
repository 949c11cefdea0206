// starling: train, eval, conform, envs, doctor and the others (programs/cli.cc).
#include "programs/cli.h"

int main(int argc, char** argv) { return starling::programs::RunCommandLine(argc, argv); }
