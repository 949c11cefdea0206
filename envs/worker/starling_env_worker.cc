// starling-env-worker: plays isolated plug-ins (env.isolate) for an actor that started it.
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "core/denormals.h"
#include "core/error.h"
#include "envs/bridge/protocol.h"
#include "envs/worker/serve.h"

using namespace starling;

namespace {

// Ends without exit handlers, which may call the broken plug-in. The sentence is printed last,
// because the client shows the last line of the output.
[[noreturn]] void End(const char* sentence) {
  std::fflush(nullptr);
  std::fprintf(stderr, "%s\n", sentence);
  std::_Exit(kExitFailed);
}

}  // namespace

int main() {
  for (const int fd : {envs::kWorkerControlFd, envs::kWorkerMemoryFd}) {
    // So that processes started by a plug-in do not hold them open.
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) continue;
    std::fputs("starling-env-worker is started by Starling where env.isolate = true\n", stderr);
    return kExitUserError;
  }
  FlushDenormals();  // as in the actor, so that an episode is the same in both
  try {
    return envs::ServePlugin(envs::kWorkerControlFd, envs::kWorkerMemoryFd);
  } catch (const std::exception& error) {
    End(error.what());
  }
}
