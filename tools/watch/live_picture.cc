#include "tools/watch/live_picture.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/process.h"
#include "core/text.h"
#include "monitor/svg/html.h"

namespace starling::watch {
namespace {

using monitor::HtmlEscaped;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kAgainMs = 3000, kMostAgainMs = 60'000;  // from a death to the next start
constexpr std::int64_t kUnaskedMs = 10'000;
constexpr int kMostReads = 64;               // at once: a game may print without end
constexpr std::size_t kMostBytes = 4 << 20;  // of a line

std::string Answer(const std::string& png, const std::string& html) {
  return Json{{"png", png}, {"html", html}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Sentence(const std::string& sentence) {
  return Answer("", fmt::format("<p class=\"faint\">{}</p>", HtmlEscaped(ToUtf8(sentence))));
}

// One that is not finite is null in JSON.
double NumberOf(const Json& number) { return number.is_null() ? NAN : number.get<double>(); }

// A bar for each value; screen readers are told its name and its number.
std::string BarsOf(const Json& choice) {
  std::string rows;
  for (const Json& value : choice) {
    const std::string name = HtmlEscaped(value.at("name").get<std::string>());
    const double p = std::clamp(value.at("p").get<double>(), 0.0, 1.0);
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"word{}\">{}</th><td><meter max=\"1\" value=\"{:.3f}\" "
        "aria-label=\"probability\"></meter></td><td>{:.0f} %</td></tr>",
        value.at("taken").get<bool>() ? " taken" : "", name, p, 100 * p);
  }
  return "<table class=\"odds\"><tbody>" + rows + "</tbody></table>";
}

std::string PolicyOf(const Json& line) {
  std::string html;
  if (line.contains("choices")) {
    for (const Json& choice : line.at("choices")) html += BarsOf(choice);
    return html;
  }
  std::string rows;
  int number = 0;
  for (const Json& of : line.at("coordinates")) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{:.2f} ± {:.2f}</td></tr>", number++,
                        NumberOf(of.at(0)), NumberOf(of.at(1)));
  }
  return "<table class=\"odds\"><tbody>" + rows + "</tbody></table>";
}

std::string FactsOf(const Json& line) {
  std::string facts = fmt::format(
      "value {:.2f}; step {} of episode {}, with the weights of {} steps",
      NumberOf(line.at("value")), line.at("step").get<std::uint64_t>(),
      line.at("episode").get<std::uint64_t>(), Grouped(line.at("steps").get<std::uint64_t>()));
  if (!line.at("last").is_null()) {
    facts += fmt::format("; the last episode returned {:.4g}", line.at("last").get<double>());
  }
  return "<p class=\"faint\">" + facts + "</p>";
}

// Passes on what can be read now.
void Drain(int fd, fleet::LineSplitter& splitter) {
  std::array<char, 64 << 10> bytes;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t size = ::read(fd, bytes.data(), bytes.size());
    if (size <= 0) return;
    splitter.Add({bytes.data(), static_cast<std::size_t>(size)});
  }
}

}  // namespace

std::optional<std::string> PictureOf(std::string_view line) try {
  const Json json = Json::parse(line);
  const auto png = json.at("png").get<std::string>();
  const bool plain = std::ranges::all_of(png, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
  });
  if (!plain) return std::nullopt;
  return Answer(png, PolicyOf(json) + FactsOf(json));
} catch (const Json::exception&) {
  return std::nullopt;
}

LivePicture::~LivePicture() {
  if (child_.pid > 0) EndChild(child_.pid, 0);
}

std::string LivePicture::Newest() {
  const std::int64_t now = asked_ms_ = clock_.NowMs();
  if (child_.pid > 0) Read();
  if (child_.pid <= 0 && (!start_ms_ || now >= *start_ms_)) Start();
  if (!line_.empty() && child_.pid > 0) {
    return PictureOf(line_).value_or(Sentence("the picture cannot be shown"));
  }
  return Sentence(trouble_.empty() ? "the game is being started" : trouble_);
}

void LivePicture::Tend() {
  if (child_.pid <= 0 || clock_.NowMs() - asked_ms_ < kUnaskedMs) return;
  EndChild(child_.pid, 0);
  child_ = {};
}

void LivePicture::Start() {
  line_.clear();
  reason_ = {};
  pictures_.emplace(kMostBytes, [this](std::string_view line) {
    line_ = line;
    trouble_.clear();
    failures_ = 0;
  });
  messages_.emplace(std::size_t{64} << 10, [this](std::string_view line) { reason_.Add(line); });
  child_ = Spawn(
      {.program = ProgramDir() / "starling",
       .arguments = {"watch", run_dir_.string(), "--play", "--parent", std::to_string(::getpid())},
       .status_pipe = true,
       .death_signal = SIGKILL});
  if (child_.pid < 0) Bury({ChildExit::How::kNotStarted, child_.error});
}

void LivePicture::Read() {
  const std::optional<ChildExit> exit = Reap(child_.pid);
  Drain(child_.status.get(), *pictures_);
  Drain(child_.output.get(), *messages_);
  if (exit) Bury(*exit);
}

// One that nobody has read for a while has ended in order, and is started again at once.
void LivePicture::Bury(const ChildExit& exit) {
  child_ = {};
  if (exit.how == ChildExit::How::kExited && exit.code == kExitDone && !line_.empty()) {
    start_ms_.reset();
    return;
  }
  const std::int64_t wait = std::min(kAgainMs << std::min(failures_++, 10), kMostAgainMs);
  start_ms_ = clock_.NowMs() + wait;
  const std::string reason = reason_.text();
  trouble_ =
      reason.empty() ? fmt::format("the game {}; it is started again", Describe(exit)) : reason;
}

}  // namespace starling::watch
