// starling: train, eval, conform, envs (fleet/cli.cc).
#include "fleet/cli.h"

int main(int argc, char** argv) { return starling::fleet::RunCommandLine(argc, argv); }
