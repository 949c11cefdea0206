#include "learner/storage/checkpoint_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/text.h"

namespace starling::learner {
namespace {

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    words.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

}  // namespace

const std::string& Metadata::Text(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    throw std::runtime_error(fmt::format("{} is not a checkpoint: it has no \"{}\"", path_, key));
  }
  return found->second;
}

std::uint64_t Metadata::Number(const std::string& key, int base) const {
  const std::optional<std::uint64_t> value = ParseNumber(Text(key), base);
  if (!value) {
    throw std::runtime_error(
        fmt::format("{}: \"{}\" is \"{}\", not a number", path_, key, Text(key)));
  }
  return *value;
}

std::map<std::string, std::string> MetadataOf(const Checkpoint& checkpoint,
                                              std::string_view format) {
  return {
      {"format", std::string(format)},
      {"term", std::to_string(checkpoint.term)},
      {"version", std::to_string(checkpoint.version)},
      {"steps", std::to_string(checkpoint.steps)},
      {"optimizer_step", std::to_string(checkpoint.optimizer_step)},
      {"optimizer_slots", Join(checkpoint.slot_names)},
      {"journal_offset", std::to_string(checkpoint.journal_offset)},
      {"fingerprint", fmt::format("{:016x}", checkpoint.layout.fingerprint())},
      {"config", checkpoint.config},
      {"counters", checkpoint.counters},
  };
}

Checkpoint FromMetadata(const Metadata& metadata, const std::string& path,
                        std::string_view format) {
  if (metadata.Text("format") != format) {
    throw std::runtime_error(fmt::format("{} has the format \"{}\"; this program reads \"{}\"",
                                         path, metadata.Text("format"), format));
  }
  Checkpoint checkpoint;
  const std::uint64_t term = metadata.Number("term");
  if (term > UINT32_MAX) {
    throw std::runtime_error(fmt::format("{}: the term {} is out of range", path, term));
  }
  checkpoint.term = static_cast<std::uint32_t>(term);
  checkpoint.version = metadata.Number("version");
  checkpoint.steps = metadata.Number("steps");
  checkpoint.optimizer_step = metadata.Number("optimizer_step");
  checkpoint.journal_offset = metadata.Number("journal_offset");
  checkpoint.slot_names = Split(metadata.Text("optimizer_slots"));
  checkpoint.config = metadata.Text("config");
  checkpoint.counters = metadata.Text("counters");
  return checkpoint;
}

}  // namespace starling::learner
