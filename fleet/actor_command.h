// How an actor is started: starling-actor, or a program of the user's for an external net
// (actors.command).
#pragma once

#include <string>
#include <vector>

#include "core/child.h"
#include "core/config/config.h"
#include "fleet/supervisor.h"

namespace starling::fleet {

// Throws UserError if the net is external, and actors.command names no program to start.
void CheckOwnActor(const Config& config);

// What a program of actors.command is told by its environment besides its run and its slot:
// "NAME=value".
std::vector<std::string> OwnActorSettings(const Config& config);

// The process of the actor in `slot`. A program of the user's is not told its parent.
ChildSpec ActorSpecOf(const SupervisorOptions& options, int slot);

}  // namespace starling::fleet
