#include "envs/trace.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "envs/env.h"

namespace starling::envs {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxLineBytes = 1u << 20;
constexpr int kMaxSide = 1024, kMaxCells = 1 << 20;

// An error in a line whose number only the caller knows.
struct BadLine {
  std::string error;
};

[[noreturn]] void Refuse(std::string error) { throw BadLine{std::move(error)}; }

const Json& Field(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) Refuse(fmt::format("\"{}\" is missing", key));
  return *found;
}

int Integer(const Json& value, const char* name, int low, int high) {
  if (!value.is_number_integer() || value < low || value >= high) {
    Refuse(fmt::format("{} is not an integer in [{}, {})", name, low, high));
  }
  return value.get<int>();
}

double Real(const Json& value, const char* name) {
  if (!value.is_number()) Refuse(fmt::format("{} is not a number", name));
  return value.get<double>();
}

bool Boolean(const Json& value, const char* name) {
  if (!value.is_boolean()) Refuse(fmt::format("{} is neither true nor false", name));
  return value.get<bool>();
}

TraceHeader ParseHeader(const Json& json) {
  TraceHeader header;
  header.game = Field(json, "game").get<std::string>();
  header.sticky_actions = Real(Field(json, "sticky_action_prob"), "\"sticky_action_prob\"");
  if (!(header.sticky_actions >= 0 && header.sticky_actions <= 1)) {
    Refuse("\"sticky_action_prob\" is not in [0, 1]");
  }
  // A channel without a name in "channels" is called by its number.
  const Json& shape = Field(json, "shape");
  if (!shape.is_array() || shape.size() != 3) Refuse("\"shape\" is not [height, width, channels]");
  header.height = Integer(shape[0], "the height", 1, kMaxSide);
  header.width = Integer(shape[1], "the width", 1, kMaxSide);
  header.channels = Integer(shape[2], "the number of channels", 1,
                            kMaxCells / (header.height * header.width) + 1);
  for (int i = 0; i < header.channels; ++i) header.channel_names.push_back(fmt::format("#{}", i));
  for (const auto& [name, index] : Field(json, "channels").items()) {
    const int i = Integer(index, "a channel's index", 0, header.channels);
    header.channel_names[i] = name;
  }
  header.action_names = Field(json, "actions").get<std::vector<std::string>>();
  return header;
}

// The arguments of a randint or choice call, keyword or not, as integers.
std::vector<int> IntegerArguments(const Json& arguments) {
  std::vector<int> integers;
  for (const Json& argument : arguments) {
    const bool keyword = argument.is_array() && argument.size() == 2 && argument[0].is_string();
    integers.push_back(
        Integer(keyword ? argument[1] : argument, "a draw's argument", -kMaxCells, kMaxCells));
  }
  return integers;
}

Draw ParseUniform(const Json& result) {
  const double value = Real(result, "the result of rand");
  if (!(value >= 0 && value < 1)) Refuse("the result of rand is not in [0, 1)");
  return Draw::Uniform(value);
}

Draw ParseRandint(const Json& arguments, const Json& result) {
  const std::vector<int> range = IntegerArguments(arguments);
  if (range.empty() || range.size() > 3)
    Refuse("randint takes (high), (low, high) or (low, high, n)");
  const int low = range.size() == 1 ? 0 : range[0];
  const int high = range.size() == 1 ? range[0] : range[1];
  return Draw::Integer(low, high, Integer(result, "the result of randint", low, high));
}

// choice(n) or choice([…]): the index that was drawn, an integer in [0, n).
Draw ParseChoice(const Json& arguments, const Json& result) {
  if (arguments.empty()) Refuse("choice takes a list or a number");
  const Json& from = arguments[0];
  if (!from.is_array()) {
    const int n = Integer(from, "the argument of choice", 1, kMaxCells);
    return Draw::Below(n, Integer(result, "the result of choice", 0, n));
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == result) return Draw::Below(static_cast<int>(from.size()), static_cast<int>(i));
  }
  Refuse("the result of choice is not in its list");
}

Draw ParseDraw(const std::string& function, const Json& arguments, const Json& result) {
  if (function == "rand") return ParseUniform(result);
  if (function == "randint") return ParseRandint(arguments, result);
  if (function == "choice") return ParseChoice(arguments, result);
  Refuse(fmt::format("draws by \"{}\" are not known here (rand, randint, choice)", function));
}

std::vector<Draw> ParseDraws(const Json& json) {
  if (!json.is_array()) Refuse("\"d\" is not a list of draws");
  std::vector<Draw> draws;
  for (const Json& call : json) {
    if (!call.is_array() || call.size() != 3 || !call[1].is_array()) {
      Refuse("a draw is not [function, arguments, result]");
    }
    const std::string function = call[0].get<std::string>();
    if (!call[2].is_array()) {
      draws.push_back(ParseDraw(function, call[1], call[2]));
      continue;
    }
    for (const Json& element : call[2]) draws.push_back(ParseDraw(function, call[1], element));
  }
  return draws;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  Refuse(fmt::format("\"s\" holds '{}', which is not a hex digit", c));
}

std::vector<std::uint8_t> ParseObservation(const Json& json, int cells) {
  const std::string hex = json.get<std::string>();
  const std::size_t count = cells;
  if (hex.size() != (count + 7) / 8 * 2) {
    Refuse(fmt::format("\"s\" holds {} hex digits, {} cells need {}", hex.size(), cells,
                       (count + 7) / 8 * 2));
  }
  std::vector<std::uint8_t> bits(count);
  for (std::size_t digit = 0; digit < hex.size(); ++digit) {
    const int value = HexDigit(hex[digit]);
    for (std::size_t bit = 0; bit < 4 && digit * 4 + bit < count; ++bit) {
      bits[digit * 4 + bit] = static_cast<std::uint8_t>(value >> (3 - bit) & 1);
    }
  }
  return bits;
}

TraceEvent ParseEvent(const Json& json, const TraceHeader& header) {
  TraceEvent event;
  event.reset = json.contains("reset") && Boolean(json["reset"], "\"reset\"");
  event.draws = ParseDraws(Field(json, "d"));
  event.observation = ParseObservation(Field(json, "s"), header.obs_size());
  if (event.reset) return event;
  event.action =
      Integer(Field(json, "a"), "the action", 0, static_cast<int>(header.action_names.size()));
  event.reward = Real(Field(json, "r"), "the reward");
  event.terminal = Boolean(Field(json, "t"), "\"t\"");
  return event;
}

}  // namespace

// A gzipped file whose lines are JSON objects.
class TraceFile::Lines {
 public:
  explicit Lines(const std::filesystem::path& path) : path_(path.string()) {
    if (std::filesystem::is_directory(path)) {
      throw UserError(fmt::format("{} is a directory; name a recording in it", path_));
    }
    errno = 0;
    file_ = gzopen(path_.c_str(), "rb");
    if (file_ == nullptr) {
      throw UserError(fmt::format("{}: the recording cannot be opened ({}); check the path", path_,
                                  std::strerror(errno)));
    }
  }
  ~Lines() { gzclose(file_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  long number() const { return number_; }

  // Passes the next line to parse(json). Returns false after the last line.
  template <class Parse>
  bool Take(const Parse& parse) {
    ++number_;
    if (!Read()) return false;
    try {
      const Json json = Json::parse(line_);
      if (!json.is_object()) Refuse("it is not a JSON object");
      parse(json);
    } catch (const BadLine& bad) {
      Fail(bad.error);
    } catch (const Json::exception& error) {
      Fail(error.what());
    }
    return true;
  }

  [[noreturn]] void Fail(std::string_view error) const {
    throw UserError(
        fmt::format("{}:{}: {}; record it again or fetch a sound copy", path_, number_, error));
  }

 private:
  // Reads line_, without the line's end. Returns false at the end of the file.
  bool Read() {
    line_.clear();
    z_off_t begin = gztell(file_);
    while (gzgets(file_, buffer_.data(), static_cast<int>(buffer_.size())) != nullptr) {
      const std::string_view read = buffer_.data();
      const z_off_t end = gztell(file_);
      if (end - std::exchange(begin, end) != std::ssize(read)) Fail("the line holds a NUL byte");
      line_ += read;
      if (line_.size() > kMaxLineBytes) Fail("the line is longer than 1 MiB");
      if (!line_.ends_with('\n')) continue;
      line_.pop_back();
      return true;
    }
    // zlib reports a file that is cut short only by the error after its last bytes.
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    if (code != Z_OK && code != Z_STREAM_END) {
      Fail(fmt::format("the file is damaged or cut short ({})", message));
    }
    return !line_.empty();
  }

  std::string path_;
  gzFile file_ = nullptr;
  long number_ = 0;
  std::array<char, 1 << 16> buffer_{};
  std::string line_;
};

TraceFile::TraceFile(const std::filesystem::path& path) : lines_(std::make_unique<Lines>(path)) {
  if (!lines_->Take([&](const Json& json) { header_ = ParseHeader(json); })) {
    lines_->Fail("the recording is empty");
  }
}

TraceFile::~TraceFile() = default;

bool TraceFile::Next(TraceEvent& event) {
  if (!lines_->Take([&](const Json& json) { event = ParseEvent(json, header_); })) return false;
  event.line = lines_->number();
  if (must_reset_ && !event.reset) lines_->Fail("a step without a reset before it");
  must_reset_ = !event.reset && event.terminal;
  return true;
}

}  // namespace starling::envs
