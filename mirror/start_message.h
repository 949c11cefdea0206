// What rank 0 gives the others before training begins: the configuration of the run, and the state
// from which it starts. So a run's files are needed on rank 0's machine only.
//
// Thread safety: the functions share nothing.
#pragma once

#include <cstdint>
#include <string>

#include "learner/storage/start.h"
#include "mirror/world.h"

namespace starling::mirror {

struct StartMessage {
  std::string config;             // TOML
  std::uint32_t session = 0;      // wire::Header
  std::uint64_t fingerprint = 0;  // of the net's layout on rank 0's machine
  bool exact = false;             // checkpoints are cuts: the envs of this run can be saved
  bool redo = false;              // if exact: the updates of killed ranks can be redone
  learner::Start start;           // without the position of the journal, which is rank 0's
};

Bytes Pack(StartMessage message);
// Throws std::runtime_error with a sentence if rank 0 has another version of Starling.
StartMessage UnpackStart(const Bytes& packed);

}  // namespace starling::mirror
