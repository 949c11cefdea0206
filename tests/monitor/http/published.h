// Statuses to make pages of.
#pragma once

#include <memory>

#include "learner/run_status.h"

namespace starling::monitor {

inline std::shared_ptr<learner::PublishedStatus> MakePublished(std::int64_t at_ms = 0) {
  auto published = std::make_shared<learner::PublishedStatus>();
  published->at_ms = at_ms;
  published->unix_s = 1234.5;
  published->status = *learner::ParseStatus(R"({
    "phase": "running", "term": 2, "steps": 960, "frames": 3840, "updates": 5, "seconds": 1.5,
    "steps_per_second": 640.0, "mean_return": 4.25, "mean_length": null, "episodes": 7,
    "episodes_cut": 9, "envs_replaced": 2, "lr": 0.0007, "entropy_coef": 0.01,
    "losses": {"policy": -0.5, "value": 0.25, "entropy": 1.5, "grad_norm": 0.125},
    "gradients": {"received": 13, "applied": 6, "merged": 2, "in_flight": 1,
                  "dropped": {"stale": 4, "not_finite": 2}},
    "frames_refused": {"handshake": 3}, "deadlines": 1,
    "staleness": {"max": 5, "mean": 1.3333333333333333, "bound": 8,
                  "histogram": [3, 1, 1, 0, 0, 1]},
    "actors_alive": 2, "actor_us": {"wait": 1},
    "time": {"actors": {"wait": 1.0, "act": 2.5}, "learner": {"idle": 3.0, "lanes": 0.5}},
    "version": 5, "checkpoint": "checkpoints/t0002-v000000000004.safetensors"})");
  published->actors = {{.slot = 0,
                        .accepted = 3,
                        .steps = 480,
                        .version = 4,
                        .staleness = 1,
                        .wait_us = 500'000,
                        .alive = true,
                        .host = "here",
                        .pid = 41,
                        .silent_s = 0.25},
                       {.slot = 1, .left = "said goodbye"},
                       {.slot = 2, .alive = true, .host = "far", .pid = 42, .key = "ada"},
                       {.slot = 3}};
  return published;
}

}  // namespace starling::monitor
