// Recorded play, and the check of our games against it.
//
// A recording, GAME_POLICY.jsonl.gz, is lines of JSON, gzipped or plain.
//
// The first line is a header:
//   {"game":"breakout","sticky_action_prob":0.1,"shape":[10,10,4],"channels":{"paddle":0,…},
//    "actions":["noop",…],…}
// Every other line is a reset or a step, with the draws it made and the picture after it:
//   {"reset":true,"d":[["randint",[2],1]],"s":HEX}
//   {"a":3,"d":[["rand",[],0.2273]],"r":0.0,"t":false,"s":HEX}
// HEX holds the bits of the (H, W, C) observation in C order, most significant first, filled up
// with zeros to whole bytes. A draw is [function, arguments, result] of numpy's rand, randint or
// choice (arguments of a keyword are written ["low", 1]); one that made an array counts as its
// elements. Play begins with a reset, and a reset follows every end. Only games whose action is a
// single choice have recordings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "envs/chance.h"

namespace starling::envs {

struct TraceHeader {
  std::string game;
  double sticky_actions = 0;
  int height = 0, width = 0, channels = 0;
  std::vector<std::string> channel_names;  // channels of them
  std::vector<std::string> action_names;
  int obs_size() const { return height * width * channels; }
};

struct TraceEvent {
  long line = 0;  // of the file, from 1
  bool reset = false;
  std::vector<Draw> draws;
  std::vector<std::uint8_t> observation;  // (H, W, C), 0 or 1
  // Of a step only:
  int action = 0;
  double reward = 0;
  bool terminal = false;
};

class TraceFile {
 public:
  // Opens `path` and reads the header. Throws UserError, with file and line, if it cannot be read
  // or is not a recording; so does Next().
  explicit TraceFile(const std::filesystem::path& path);
  ~TraceFile();

  const TraceHeader& header() const { return header_; }

  // Reads the next reset or step. Returns false after the last.
  bool Next(TraceEvent& event);

 private:
  class Lines;

  std::unique_ptr<Lines> lines_;
  TraceHeader header_;
  bool must_reset_ = true;
};

struct TraceResult {
  bool conforms = false;
  long steps = 0;  // number of steps that agreed
  // Empty if it conforms. Otherwise several lines: the step, then every difference between
  // recording and game in draws, reward and end, and a picture of every channel that differs.
  std::string first_difference;
};

// Checks our game against a recording (`starling conform`): with the recorded actions and draws, it
// must show the same observation, reward and end at every step.
// Throws UserError, with file and line, if the file cannot be read or is not a recording, or if we
// do not have its game or variant.
TraceResult Conform(const std::filesystem::path& path);

// The games that can be checked, by their names in recordings ("breakout").
std::vector<std::string> TracedGames();

}  // namespace starling::envs
