// What the files with rules between keys share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/config/config.h"

namespace starling {

using Contradictions = std::vector<Contradiction>;

// Adds a contradiction between `keys`, described by a sentence.
template <class... Args>
void Add(Contradictions& found, std::vector<std::string> keys, fmt::format_string<Args...> sentence,
         Args&&... args) {
  found.push_back({std::move(keys), fmt::format(sentence, std::forward<Args>(args)...)});
}

// The rules of [updates] and [staleness] (update_rules.cc).
void CheckUpdates(const Config& config, Contradictions& found);

}  // namespace starling
