// What the envs that Python plays share (bridge.h): their programs and settings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/config/config.h"
#include "envs/bridge/worker.h"
#include "envs/frames.h"

namespace starling::envs {

// The program of each worker: the text of gym_worker.py or ale_worker.py, and before it the texts
// that it needs.
extern const char kGymWorker[];
extern const char kAleWorker[];

// The worker of config.name = prefix + id: the interpreter of env.python with `text` as its input,
// and `settings` beside "env" (the id), "name" and "options". Throws UserError if there is no id
// (with `example`), no interpreter, or env.options is no object of JSON.
WorkerProgram PythonProgram(const EnvConfig& config, const std::string& prefix, const char* example,
                            const char* text, nlohmann::json settings);

// The spec of `program`. Asks a child process, once for all that have its interpreter and settings.
// Throws UserError as TryWorker.
FrameSpec PythonSpec(const EnvConfig& config, const WorkerProgram& program);

}  // namespace starling::envs
