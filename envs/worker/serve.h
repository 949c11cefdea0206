// The worker's side of envs/bridge/protocol.h, for plug-ins.
#pragma once

namespace starling::envs {

// Plays until the control socket closes; then returns the exit status. Throws UserError if the
// plug-in fails during play: the process must then end.
int ServePlugin(int control_fd, int memory_fd);

}  // namespace starling::envs
