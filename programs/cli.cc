#include "programs/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/process.h"
#include "core/text.h"
#include "core/version.h"
#include "envs/trace.h"
#include "programs/checks.h"
#include "programs/commands.h"
#include "wire/keys.h"

namespace starling::programs {
namespace {

// Writes a key pair into two files and prints their use. Throws UserError as WriteKeyFiles.
int NewKeys(const std::string& dir, const std::string& name) {
  const wire::KeyFiles files = wire::WriteKeyFiles(dir, name, wire::NewKeyPair());
  const std::string secret = files.secret_file.string(), open = files.public_file.string();
  fmt::print(
      "{}  the secret key: it stays on this machine\n"
      "{}  the public key: give it to the others\n"
      "A learner with it:  --set wire.endpoint=tcp://*:5555 --set wire.secret={} "
      "--set wire.allowed=DIR (with the .public files of its actors)\n"
      "An actor with it:   --connect tcp://LEARNER:5555 --secret {} --learner-key "
      "LEARNER.public (and {} in the learner's DIR)\n",
      secret, open, ShellQuoted(secret), ShellQuoted(secret),
      files.public_file.filename().string());
  return kExitDone;
}

int Conform(const std::string& trace) {
  const envs::TraceResult result = envs::Conform(trace);
  if (result.conforms) {
    std::printf("conforms: %ld steps\n", result.steps);
    return kExitDone;
  }
  std::printf("%s\n", result.first_difference.c_str());
  return kExitFailed;
}

int Bench(std::vector<std::string> words) {
  const std::string program = (ProgramDir() / "starling-bench").string();
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  throw UserError(program +
                  ": cannot be started; build it with scripts/build release starling-bench");
}

fleet::ShowProgress ProgressNamed(const std::string& name) {
  if (name == "bar") return fleet::ShowProgress::kBar;
  if (name == "lines") return fleet::ShowProgress::kLines;
  return name == "none" ? fleet::ShowProgress::kNone : fleet::ShowProgress::kScreen;
}

int Dispatch(const CLI::App& app, Options& options) {
  // Empty texts are options that were not given.
  if (app.got_subcommand("train")) {
    fleet::TrainOptions& train = options.train;
    train.config = options.train_config;
    train.programs = ProgramDir();
    train.progress = ProgressNamed(options.progress);
    if (!options.run_dir.empty()) train.run_dir = options.run_dir;
    if (!options.resume.empty()) train.resume = options.resume;
    return fleet::RunTrain(train);
  }
  if (app.got_subcommand("simulate")) {
    simulate::SimulateOptions& simulate = options.simulate;
    if (!options.simulated_run_dir.empty()) simulate.run_dir = options.simulated_run_dir;
    if (!options.times_from.empty()) simulate.times_from = options.times_from;
    return simulate::RunSimulate(simulate);
  }
  if (app.got_subcommand("eval")) return play::RunEval(options.eval);
  if (app.got_subcommand("conform")) return Conform(options.trace);
  if (app.got_subcommand("play")) return play::RunPlay(options.play);
  if (app.got_subcommand("record")) return play::RunRecord(options.record);
  if (app.got_subcommand("export")) return exports::RunExport(options.exported);
  if (app.got_subcommand("sweep")) return sweep::RunSweep(options.sweep);
  if (app.got_subcommand("report")) return report::RunReport(options.report);
  if (app.got_subcommand("doctor")) return doctor::RunDoctor(options.doctor);
  if (app.got_subcommand("replay")) return replay::RunReplay(options.replay);
  if (app.got_subcommand("keys")) return NewKeys(options.keys_dir, options.keys_name);
  if (app.got_subcommand("stop")) return stop::RunStop(options.stop);
  if (app.got_subcommand("prune")) return prune::RunPrune(options.prune);
  if (app.got_subcommand("watch")) return watch::RunWatch(options.watch);
  if (app.got_subcommand("bench")) return Bench(app.get_subcommand("bench")->remaining());
  std::printf("%s", play::EnvTable().c_str());
  return kExitDone;
}

// Returns the subcommand of the command line, or `app` if there is none.
const CLI::App& Chosen(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::vector<std::string> KnownWords(const CLI::App& app) {
  std::vector<std::string> known = {"--help"};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(sub->get_name());
  }
  return known;
}

// Returns `; did you mean "train"?` for the first word that CLI11 does not know, or "".
std::string Hint(const CLI::App& app) {
  const std::vector<std::string> strays = app.remaining(/*recurse=*/true);
  if (strays.empty()) return "";
  const std::string word = strays.front().substr(0, strays.front().find('='));
  return DidYouMean(word, KnownWords(Chosen(app)));
}

// Prints help and version to standard output (status 0), any other error to standard error.
int AnswerParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const CLI::App& chosen = Chosen(app);
  const std::vector<std::string> strays = app.remaining();
  const std::string what = &chosen == &app && !strays.empty()
                               ? fmt::format("there is no command \"{}\"", strays.front())
                               : std::string(error.what());
  std::fprintf(stderr, "starling: %s\n", Escaped(what + Hint(app)).c_str());
  std::fprintf(stderr, "Run starling%s --help for the choices.\n",
               &chosen == &app ? "" : (" " + chosen.get_name()).c_str());
  return kExitUserError;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  IgnoreFileSizeSignal();
  Options options;
  options.train.program = options.sweep.program = options.simulate.program = argv[0];
  CLI::App app("Starling: asynchronous actor-critic training, with a bound on staleness.",
               "starling");
  app.set_version_flag("--version", VersionLine("starling"));
  app.require_subcommand(1);
  AddCommands(app, options);
  try {
    app.parse(argc, argv);
    return Flushed("starling", Dispatch(app, options));
  } catch (const CLI::ParseError& error) {
    return Flushed("starling", AnswerParseError(app, error));
  } catch (const UserError& error) {
    PrintError(error.what());
    return kExitUserError;
  } catch (const std::exception& error) {
    PrintError(fmt::format("starling: {}", error.what()));
    return kExitFailed;
  }
}

}  // namespace starling::programs
