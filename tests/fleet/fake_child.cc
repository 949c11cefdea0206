// A stand-in for starling-learner, starling-actor and `starling replay`. It is a learner unless it
// is given --slot, --evaluate or replay. Its commands are read from script.learner, script.actor,
// script.actor.SLOT, script.evaluator or script.redo in the run directory (or in $FAKE_SCRIPTS, if
// that is set): one line for each life, the last one for all that follow; commands separated by
// ';':
//   say TEXT        a line on standard error
//   print TEXT      a line on standard output
//   status JSON     a line to the status descriptor
//   touch FILE      creates RUN_DIR/FILE
//   append FILE TEXT  a line to the end of RUN_DIR/FILE
//   await FILE      waits until RUN_DIR/FILE exists
//   mkdir PATH      creates RUN_DIR/PATH, with its parents
//   remove FILE     removes RUN_DIR/FILE
//   hold            waits until SIGTERM or until RUN_DIR/over exists
//   asked           waits until SIGTERM
//   interrupt       sends SIGINT to its parent
//   deaf            ignores SIGTERM from now on
//   forever         waits until it is killed
//   exit N, kill N  ends with that status, or by that signal
// Without a script a redo ends at once, and any other holds.
// Each life appends its pid to RUN_DIR/pids.WHO (learner, actor.SLOT, evaluator, redo), and its
// arguments to RUN_DIR/arguments.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

volatile sig_atomic_t termed = 0;

struct Self {
  std::string run_dir, slot, who = "learner";
  int status_fd = -1;
};

Self Parse(int argc, char** argv) {
  Self self;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--evaluate") self.who = "evaluator";
    if (key == "replay") self.who = "redo";
    if (key == "--run-dir" || key == "replay") self.run_dir = argv[i + 1];
    if (key == "--slot") self.slot = argv[i + 1];
    if (key == "--status-fd") self.status_fd = std::atoi(argv[i + 1]);
  }
  if (!self.slot.empty()) self.who = "actor." + self.slot;
  return self;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The line is written in one go, so that readers see it whole.
void AppendLine(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = text + "\n";
  if (write(fd, line.data(), line.size()) < 0) std::abort();
  close(fd);
}

void WriteTo(int fd, const std::string& text) {
  const std::string line = text + "\n";
  [[maybe_unused]] const auto written = write(fd, line.data(), line.size());
}

void Perform(const Self& self, const std::string& command, const std::string& rest) {
  if (command == "say") WriteTo(2, rest);
  if (command == "print") WriteTo(1, rest);
  if (command == "status") WriteTo(self.status_fd, rest);
  if (command == "touch") AppendLine(self.run_dir + "/" + rest, "");
  if (command == "append") {
    const std::size_t space = rest.find(' ');
    AppendLine(self.run_dir + "/" + rest.substr(0, space), rest.substr(space + 1));
  }
  if (command == "mkdir") std::filesystem::create_directories(self.run_dir + "/" + rest);
  if (command == "remove") std::filesystem::remove(self.run_dir + "/" + rest);
  if (command == "await") {
    while (!Exists(self.run_dir + "/" + rest)) usleep(1000);
  }
  if (command == "hold") {
    while (!termed && !Exists(self.run_dir + "/over")) usleep(1000);
  }
  while (command == "asked" && !termed) usleep(1000);
  if (command == "interrupt") kill(getppid(), SIGINT);
  if (command == "deaf") signal(SIGTERM, SIG_IGN);
  while (command == "forever") pause();
  if (command == "exit") std::_Exit(std::atoi(rest.c_str()));
  if (command == "kill") {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(std::atoi(rest.c_str()), SIG_DFL);  // a sanitizer may have taken it
    kill(getpid(), std::atoi(rest.c_str()));
    while (true) pause();
  }
}

std::string ScriptOf(const Self& self, std::size_t life) {
  const char* elsewhere = std::getenv("FAKE_SCRIPTS");
  const std::string scripts = elsewhere == nullptr ? self.run_dir : elsewhere;
  const std::string own = scripts + "/script." + self.who;
  const std::vector<std::string> lines =
      Lines(Exists(own) || self.slot.empty() ? own : scripts + "/script.actor");
  if (lines.empty()) return self.who == "redo" ? "exit 0" : "hold; exit 0";
  return lines[std::min(life, lines.size()) - 1];
}

}  // namespace

int main(int argc, char** argv) {
  const Self self = Parse(argc, argv);
  signal(SIGTERM, [](int) { termed = 1; });
  std::string arguments = self.who;
  for (int i = 1; i < argc; ++i) arguments += std::string(" ") + argv[i];
  AppendLine(self.run_dir + "/arguments", arguments);
  const std::string pids = self.run_dir + "/pids." + self.who;
  AppendLine(pids, std::to_string(getpid()));

  std::istringstream script(ScriptOf(self, Lines(pids).size()));
  for (std::string part; std::getline(script, part, ';');) {
    const std::size_t begin = part.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    const std::size_t space = part.find(' ', begin);
    const std::string rest = space == std::string::npos ? "" : part.substr(space + 1);
    Perform(self, part.substr(begin, space - begin), rest);
  }
  return 0;
}
