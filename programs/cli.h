// The command line of `starling`: its subcommands and its error messages.
#pragma once

namespace starling::programs {

// Returns the exit status. Results for programs go to standard output, everything else to standard
// error; a UserError of any command is printed here.
int RunCommandLine(int argc, char** argv);

}  // namespace starling::programs
