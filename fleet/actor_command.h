// How an actor is started: starling-actor, or a program of the user's for an external net
// (actors.command).
#pragma once

#include "core/child.h"
#include "core/config/config.h"
#include "fleet/supervisor.h"

namespace starling::fleet {

// Throws UserError if the net is external, and actors.command names no program to start.
void CheckOwnActor(const Config& config);

// The process of the actor in `slot`.
ChildSpec ActorSpecOf(const SupervisorOptions& options, int slot);

}  // namespace starling::fleet
