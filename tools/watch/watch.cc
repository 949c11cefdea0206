#include "tools/watch/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <functional>
#include <system_error>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "monitor/http/gate.h"
#include "monitor/http/status_server.h"
#include "tools/watch/health.h"
#include "tools/watch/list_pages.h"
#include "tools/watch/live_play.h"
#include "tools/watch/run_pages.h"

namespace starling::watch {
namespace {

namespace fs = std::filesystem;

// The address: the options', or that of the run. Its port is that of the pages that the run itself
// starts, so by hand it is another one.
StatusConfig AddressOf(const WatchOptions& options) {
  StatusConfig address;
  if (options.parent == 0 && IsRun(options.target)) {
    try {
      address = LoadConfig(options.target / "config.toml").status;
      address.port = 0;
    } catch (const UserError&) {
      // The page says why it cannot be read.
    }
  }
  if (options.port) address.port = *options.port;
  if (!options.bind.empty()) address.bind = options.bind;
  if (!options.token_file.empty()) address.token_file = options.token_file;
  return address;
}

monitor::Answerer Guarded(monitor::GateRules rules, monitor::Answerer answer) {
  return [gate = monitor::Gate(std::move(rules)),
          answer = std::move(answer)](const monitor::PageRequest& request) {
    auto stopped = gate.Stop(request);
    monitor::PageAnswer said = stopped ? *std::move(stopped) : answer(request);
    said.head_only = request.method == "HEAD";
    return said;
  };
}

}  // namespace

int RunWatch(const WatchOptions& options) {
  if (options.play) return RunLivePlay(options.target, options.parent);
  // 1. Check everything.
  if (options.health) {
    const HealthAnswer health = HealthIn(options.target, SteadyClock());
    fmt::print("{}", health.text);
    return health.well ? kExitDone : kExitFailed;
  }
  std::error_code none;
  if (!fs::is_directory(options.target, none)) {
    throw UserError(fmt::format("there is no directory {}", options.target.string()));
  }
  const fs::path target = fs::canonical(options.target);
  const bool by_hand = options.parent == 0, is_run = !by_hand || IsRun(target);
  const StatusConfig address = AddressOf(options);
  monitor::GateRules rules{.loopback = boost::asio::ip::make_address(address.bind).is_loopback()};
  if (!address.token_file.empty()) rules.token = monitor::ReadToken(address.token_file);

  // 2. Serve.
  if (!by_hand) InitLog("pages");
  ::setpriority(PRIO_PROCESS, 0, 19);
  const int stop_fd = CatchStopSignals();
  const std::function<bool()> abandoned = WatchParent(options.parent);
  const SteadyClock clock;
  RunPages run(target, clock, /*begins=*/!by_hand);
  ListPages list(target, clock);
  const monitor::StatusServer server({.bind = address.bind,
                                      .port = static_cast<std::uint16_t>(address.port),
                                      .keep_trying = !by_hand},
                                     Guarded(rules, [&](const monitor::PageRequest& request) {
                                       return is_run ? run.Answer(request.path())
                                                     : list.Answer(request.path());
                                     }));
  const std::string url =
      fmt::format("http://{}/", monitor::AddressText(address.bind, server.port()));
  if (by_hand) {
    fmt::print("{} (Ctrl-C ends it)\n", url);
    if (!rules.loopback && rules.token.empty()) {
      fmt::print("Without --token-file it serves /healthz and /metrics only.\n");
    }
    std::fflush(stdout);
  } else if (server.port() > 0) {
    LogInfo("the page of this run: {}", url);
  }

  // 3. Wait for the end.
  constexpr int kLookMs = 500;
  pollfd stop{.fd = stop_fd, .events = POLLIN, .revents = 0};
  while (!abandoned() && ::poll(&stop, 1, kLookMs) <= 0) {
    if (server.ended()) return kExitFailed;
  }
  return kExitDone;
}

}  // namespace starling::watch
