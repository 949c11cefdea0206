// starling: train, eval, conform, envs, doctor and the others (fleet/cli.cc).
#include "fleet/cli.h"

int main(int argc, char** argv) { return starling::fleet::RunCommandLine(argc, argv); }
