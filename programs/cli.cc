#include "programs/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/process.h"
#include "core/text.h"
#include "core/version.h"
#include "envs/registry.h"
#include "envs/trace.h"
#include "fleet/train.h"
#include "programs/checks.h"
#include "tools/doctor/doctor.h"
#include "tools/play/play.h"
#include "tools/prune/prune.h"
#include "tools/replay/replayer.h"
#include "tools/report/report.h"
#include "tools/simulate/simulate.h"
#include "tools/stop/stop.h"
#include "tools/sweep/sweep.h"
#include "wire/keys.h"

namespace starling::programs {
namespace {

struct Options {
  fleet::TrainOptions train;
  std::string train_config, run_dir, resume, progress = "screen";
  play::EvalOptions eval;
  play::PlayOptions play;
  play::RecordOptions record;
  sweep::SweepOptions sweep;
  report::ReportOptions report;
  doctor::DoctorOptions doctor;
  replay::ReplayOptions replay;
  simulate::SimulateOptions simulate;
  stop::StopOptions stop;
  prune::PruneOptions prune;
  std::string simulated_run_dir, times_from, trace, keys_name, keys_dir = "keys";
};

CLI::Option* AddSet(CLI::App& app, std::vector<std::string>& overrides, const char* what) {
  return app.add_option("--set", overrides, what)->allow_extra_args(false)->type_name("KEY=VALUE");
}

const CLI::Validator kSeed = IsInteger(0, std::numeric_limits<std::int64_t>::max());
const CLI::Validator kVersion = IsInteger(0, 1'000'000'000'000'000);

void AddTrain(CLI::App& app, Options& options) {
  CLI::App& train = *app.add_subcommand("train", "Train: one learner and a fleet of actors.");
  CLI::Option* config =
      train
          .add_option("CONFIG", options.train_config, "TOML file; configs/reference.toml explains")
          ->transform(IsPath());
  AddSet(train, options.train.overrides, "section.key=value, over the file's");
  CLI::Option* run_dir =
      train.add_option("--run-dir", options.run_dir, "where the run goes; default: runs/NAME")
          ->transform(IsPath());
  CLI::Option* init_from =
      train
          .add_option(
              "--init-from", options.train.init_from,
              "start from the weights of this run or checkpoint (same net, fresh optimizer)")
          ->transform(IsPath());
  train.add_option("--resume", options.resume, "continue the run in this directory")
      ->transform(IsPath())
      ->excludes(config)
      ->excludes(run_dir)
      ->excludes(init_from);
  train.add_flag("--no-actors", options.train.no_actors,
                 "start none: all join from other places (docs/fleet.md)");
  train
      .add_option("--progress", options.progress,
                  "display in a terminal: screen (default: charts and actors), bar, lines or none")
      ->type_name("HOW")
      ->check(CLI::IsMember(std::vector<std::string>{"screen", "bar", "lines", "none"})
                  .description(""));
  train.footer(
      "--set eval.every_steps=N evaluates the newest weights every N steps during training:\n"
      "results in eval.jsonl, the best weights in checkpoints/best.safetensors.\n"
      "tensorboard --logdir RUN shows the run's charts.");
  train.callback([&options] {
    if (options.train_config.empty() && options.resume.empty()) {
      throw CLI::RequiredError("CONFIG or --resume DIR");
    }
  });
}

void AddEval(CLI::App& app, Options& options) {
  CLI::App& eval = *app.add_subcommand("eval", "Play fresh episodes with trained weights.");
  eval.add_option("RUN_OR_CHECKPOINT", options.eval.target, "run directory or checkpoint")
      ->required()
      ->transform(IsPath());
  AddSet(eval, options.eval.overrides, "env.key=value, over the run's");
  eval.add_option("--episodes", options.eval.episodes, "how many (100)")
      ->transform(IsInteger(1, 10'000'000));
  eval.add_flag("--greedy", options.eval.greedy, "take the likeliest action, do not draw");
  eval.add_option("--seed", options.eval.seed, "of the episodes (1)")->transform(kSeed);
  eval.add_flag("--json", options.eval.json, "one JSON object on standard output");
}

void AddPlay(CLI::App& app, play::PlayOptions& options) {
  CLI::App& play = *app.add_subcommand("play", "Play an environment yourself, in the terminal.");
  play.add_option("ENV", options.env, "its name, as starling envs lists them")->required();
  AddSet(play, options.overrides, "env.key=value");
  play.add_option("--fps", options.fps, "steps per second (30 for pictures, 8 for grids)")
      ->transform(IsInteger(1, 1000));
  play.add_option("--seed", options.seed, "of the episodes (1)")->transform(kSeed);
}

void AddRecord(CLI::App& app, play::RecordOptions& options) {
  CLI::App& record = *app.add_subcommand("record", "Pictures of play, as x.gif or x.png.");
  // The player: a trained net, or random actions in an environment.
  CLI::Option* target = record
                            .add_option("RUN_OR_CHECKPOINT", options.target,
                                        "run directory or checkpoint whose net plays")
                            ->transform(IsPath());
  record.add_option("--env", options.env, "a random player in this environment")->excludes(target);
  AddSet(record, options.overrides, "env.key=value, over the run's");
  record.add_option("--out", options.out, "where to: x.gif or x.png")
      ->required()
      ->transform(IsPath());
  record.add_option("--episodes", options.episodes, "end after so many (1)")
      ->transform(IsInteger(1, 1'000'000));
  record.add_option("--steps", options.steps, "or after so many steps (2000)")
      ->transform(IsInteger(1, play::kMaxRecordedSteps));
  record.add_flag("--greedy", options.greedy, "take the likeliest action, do not draw");
  record.add_option("--seed", options.seed, "of the episodes (1)")->transform(kSeed);
  record.add_option("--fps", options.fps, "of a GIF (30 for pictures, 8 for grids)")
      ->transform(IsInteger(1, play::GifWriter::kFastest));
  record.add_option("--scale", options.scale, "pixels a cell or pixel; default: about 336 in all")
      ->transform(IsInteger(1, 1024));
  record.add_option("--tiles", options.tiles, "frames in a PNG, evenly spread (1: the last)")
      ->transform(IsInteger(1, 100));
  record.callback([&options] {
    if (options.target.empty() && options.env.empty()) {
      throw CLI::RequiredError("RUN_OR_CHECKPOINT or --env NAME");
    }
  });
}

void AddSweep(CLI::App& app, sweep::SweepOptions& options) {
  CLI::App& sweep = *app.add_subcommand(
      "sweep", "Train every point of a grid with every seed; called again, it goes on.");
  sweep.add_option("GRID", options.grid, "TOML file; docs/sweeps-and-reports.md explains")
      ->required()
      ->transform(IsPath());
}

void AddReport(CLI::App& app, report::ReportOptions& options) {
  CLI::App& report = *app.add_subcommand("report", "Compare runs, on one page for a browser.");
  report.add_option("RUN", options.runs, "run directories, or those of sweeps")
      ->required()
      ->transform(IsPath());
  report.add_option("--out", options.out, "where to (report.html)")->transform(IsPath());
  report
      .add_option("--score", options.scores,
                  "a return: show the steps and seconds to reach it; ENV=RETURN for one "
                  "environment")
      ->allow_extra_args(false)
      ->type_name("RETURN");
  report.add_flag("--parts", options.parts,
                  "each RUN is a part of the page, with groups and figures of its own");
  report.add_option("--title", options.title, "of the page; default: the environments");
  report
      .add_option("--notes", options.notes,
                  "a text file for the top of the page: paragraphs, # headings, - lists")
      ->transform(IsPath());
  report.add_option("--data", options.data, "x.csv or x.json: every number, a row for each run")
      ->transform(IsPath());
}

void AddDoctor(CLI::App& app, doctor::DoctorOptions& options) {
  CLI::App& doctor = *app.add_subcommand(
      "doctor", "Show this machine, check that it computes correctly, list missing parts.");
  doctor.add_flag("--json", options.json, "one JSON object on standard output");
}

void AddReplay(CLI::App& app, replay::ReplayOptions& options) {
  CLI::App& replay = *app.add_subcommand(
      "replay", "Repeat a run from its journal, in one process, to the same bits.");
  replay.add_option("RUN", options.run_dir, "run directory")->required()->transform(IsPath());
  CLI::Option* const until = replay.add_option("--until", options.until, "stop after this version")
                                 ->transform(kVersion)
                                 ->type_name("VERSION");
  CLI::Option* const explain =
      replay
          .add_option("--explain", options.explain,
                      "only show the gradients of this version: their actors, staleness, norms")
          ->transform(kVersion)
          ->type_name("VERSION")
          ->excludes(until);
  CLI::Option* const from = replay.add_flag(
      "--from-checkpoint", options.from_checkpoint,
      "begin at the newest checkpoint that has the states of its actors, not at version 0");
  CLI::Option* const write = replay.add_flag(
      "--write", options.write,
      "end with a checkpoint, so that nothing that a killed learner had applied is lost");
  from->excludes(explain);
  write->needs(from)->excludes(until)->excludes(explain);
  for (const auto& [name, value] :
       {std::pair("--status-fd", &options.status_fd), std::pair("--parent", &options.parent)}) {
    replay.add_option(name, *value)->group("");  // the supervisor's
  }
  replay.add_option("--redo-s", options.redo_s)->group("");
}

void AddSimulate(CLI::App& app, Options& options) {
  CLI::App& simulate = *app.add_subcommand(
      "simulate", "Train with a fleet of any size in one process, in virtual time.");
  simulate
      .add_option("CONFIG", options.simulate.config,
                  "TOML file; its section [simulate] holds the durations")
      ->required()
      ->transform(IsPath());
  AddSet(simulate, options.simulate.overrides, "section.key=value, over the file's");
  simulate
      .add_option("--run-dir", options.simulated_run_dir, "where the run goes; default: runs/NAME")
      ->transform(IsPath());
  simulate
      .add_option("--times-from", options.times_from,
                  "take the mean times of this real run instead of those of [simulate]")
      ->transform(IsPath())
      ->type_name("RUN");
}

void AddKeys(CLI::App& app, Options& options) {
  CLI::App& keys = *app.add_subcommand("keys", "Keys for a fleet on several machines.");
  keys.require_subcommand(1);
  CLI::App& make = *keys.add_subcommand(
      "new", "Make a pair: NAME.secret to keep, NAME.public to give to others.");
  make.add_option("NAME", options.keys_name, "of the learner, a host or a person")->required();
  make.add_option("--dir", options.keys_dir, "where to (keys)")->transform(IsPath());
}

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

void AddStop(CLI::App& app, stop::StopOptions& options) {
  CLI::App& stop = *app.add_subcommand(
      "stop", "End a fleet in order: actors leave, the learner writes its last checkpoint.");
  stop.add_option("RUN", options.run_dir, "run directory, on the learner's machine")
      ->required()
      ->transform(IsPath());
  stop.add_option("--timeout", options.timeout_s, "seconds to wait for its end (60)")
      ->check(IsSeconds(0, 86'400));
}

void AddPrune(CLI::App& app, prune::PruneOptions& options) {
  CLI::App& prune = *app.add_subcommand(
      "prune", "Remove what runs keep beyond checkpoint.keep and journal.keep.");
  prune.add_option("RUN", options.run_dirs, "run directories")->required()->transform(IsPath());
  AddSet(prune, options.overrides,
         "checkpoint.keep=N or journal.keep=GB, instead of the run's own; repeatable");
  prune.add_flag("--dry-run", options.dry_run, "only say what would be removed");
}

void AddConform(CLI::App& app, Options& options) {
  CLI::App& conform = *app.add_subcommand("conform", "Replay a recorded trace against our game.");
  conform.add_option("TRACE", options.trace, "TRACE.jsonl.gz")->required()->transform(IsPath());
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

// All further arguments are those of starling-bench, in the directory of this program.
void AddBench(CLI::App& app) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure: see starling bench --help.");
  bench.prefix_command();
  bench.set_help_flag();
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
  if (app.got_subcommand("sweep")) return sweep::RunSweep(options.sweep);
  if (app.got_subcommand("report")) return report::RunReport(options.report);
  if (app.got_subcommand("doctor")) return doctor::RunDoctor(options.doctor);
  if (app.got_subcommand("replay")) return replay::RunReplay(options.replay);
  if (app.got_subcommand("keys")) return NewKeys(options.keys_dir, options.keys_name);
  if (app.got_subcommand("stop")) return stop::RunStop(options.stop);
  if (app.got_subcommand("prune")) return prune::RunPrune(options.prune);
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
  AddTrain(app, options);
  AddEval(app, options);
  AddPlay(app, options.play);
  AddRecord(app, options.record);
  AddSweep(app, options.sweep);
  AddReport(app, options.report);
  AddConform(app, options);
  AddDoctor(app, options.doctor);
  AddReplay(app, options.replay);
  AddSimulate(app, options);
  AddKeys(app, options);
  AddStop(app, options.stop);
  AddPrune(app, options.prune);
  AddBench(app);
  app.add_subcommand("envs", "List the environments.");
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
