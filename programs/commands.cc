#include "programs/commands.h"

#include <limits>
#include <string>
#include <vector>

#include "core/config/config_schema.h"
#include "core/text.h"
#include "programs/checks.h"

namespace starling::programs {
namespace {

CLI::Option* AddSet(CLI::App& app, std::vector<std::string>& overrides, const char* what) {
  return app.add_option("--set", overrides, what)->allow_extra_args(false)->type_name("KEY=VALUE");
}

const CLI::Validator kSeed = IsInteger(0, std::numeric_limits<std::int64_t>::max());
const CLI::Validator kActor = IsInteger(0, 1'000'000);
const CLI::Validator kEpisodes = IsInteger(1, 10'000'000);
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
  CLI::Option* resume =
      train.add_option("--resume", options.resume, "continue the run in this directory")
          ->transform(IsPath())
          ->excludes(config)
          ->excludes(run_dir)
          ->excludes(init_from);
  train
      .add_flag("--continue", options.train.continues,
                "resume the run in --run-dir if it has a checkpoint, else begin it")
      ->excludes(resume);
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
  eval.add_option("--episodes", options.eval.episodes, "how many (100)")->transform(kEpisodes);
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

void AddExport(CLI::App& app, exports::ExportOptions& options) {
  CLI::App& command =
      *app.add_subcommand("export", "A trained policy as a file for other programs.");
  command.add_option("RUN_OR_CHECKPOINT", options.target, "run directory or checkpoint")
      ->required()
      ->transform(IsPath());
  AddSet(command, options.overrides, "env.key=value, over the run's");
  command.add_option("--onnx", options.onnx, "an ONNX file to write")->transform(IsPath());
  command
      .add_option("--safetensors", options.safetensors,
                  "a file of safetensors to write as PyTorch takes it, with a Python module beside "
                  "it that loads it")
      ->transform(IsPath());
  command.callback([&options] {
    if (options.onnx.empty() && options.safetensors.empty()) {
      throw CLI::RequiredError("--onnx FILE or --safetensors FILE");
    }
  });
}

void AddSweep(CLI::App& app, sweep::SweepOptions& options) {
  CLI::App& sweep = *app.add_subcommand(
      "sweep", "Train every point of a grid with every seed; called again, it goes on.");
  sweep.add_option("GRID", options.grid, "TOML file; docs/sweeps-and-reports.md explains")
      ->required()
      ->transform(IsPath());
  sweep
      .add_option("--only", options.only,
                  "only the points with this value of a key of [grid], or the seed run.seed=N; "
                  "repeatable")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

void AddReport(CLI::App& app, report::ReportOptions& options) {
  CLI::App& report = *app.add_subcommand("report", "Compare runs, on one page for a browser.");
  report
      .add_option("RUN", options.runs,
                  "directories of runs or of sweeps, or files that --data wrote")
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
                  "each directory, and each part of a file, is a part of the page, with groups and "
                  "figures of its own");
  report.add_option("--title", options.title, "of the page; default: the environments");
  report
      .add_option("--notes", options.notes,
                  "a text file for the page: paragraphs, # headings, - lists, --- PART for a part")
      ->transform(IsPath());
  report
      .add_option("--data", options.data,
                  "x.csv or x.json: every number, a row for each run; a RUN for later reports")
      ->transform(IsPath());
}

void AddDoctor(CLI::App& app, doctor::DoctorOptions& options) {
  CLI::App& doctor = *app.add_subcommand(
      "doctor", "Show this machine, check that it computes correctly, list missing parts.");
  doctor.add_flag("--json", options.json, "one JSON object on standard output");
  doctor.add_flag("--gpu", options.gpu, "fail if there is no GPU");
  doctor.add_flag("--full", options.full, "games and unrolls of many envs and steps");
  doctor.add_option("--only", options.only, "checks with TEXT in their name (\"rollouts: cuda\")")
      ->type_name("TEXT");
  doctor.add_option("--limit", options.limit_s, "a check that takes longer hangs (120)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86'400));
}

// What else a replay answers: options that exclude each other and `others`.
void AddQuestions(CLI::App& replay, replay::ReplayOptions& options,
                  const std::vector<CLI::Option*>& others) {
  CLI::Option* const page =
      replay.add_flag("--page", options.page,
                      "write RUN/updates.html: all updates, who, how stale, norms and losses");
  CLI::Option* const bisect =
      replay
          .add_option("--bisect", options.bisect,
                      "find a version whose evaluation is so, and that of the one before not: "
                      "\"return < 5\"")
          ->type_name("CONDITION");
  CLI::Option* const without =
      replay
          .add_option("--without-actor", options.without_actor,
                      "branch into another run, without this actor after version --after")
          ->transform(kActor)
          ->type_name("ACTOR");
  page->excludes(bisect)->excludes(without);
  bisect->excludes(without);
  for (CLI::Option* const question : {page, bisect, without}) {
    for (CLI::Option* const other : others) question->excludes(other);
  }
  replay
      .add_option("--after", options.after,
                  "of --page, --bisect and --without-actor: later versions only")
      ->transform(kVersion)
      ->type_name("VERSION");
  replay.add_option("--episodes", options.episodes, "of each evaluation of --bisect (100)")
      ->transform(kEpisodes)
      ->needs(bisect);
  replay
      .add_flag("--greedy", options.greedy, "evaluate with the likeliest action, do not draw one")
      ->needs(bisect);
  replay
      .add_option("--run-dir", options.branch_dir,
                  "where the branch goes; default: RUN-without-ACTOR, or with a number behind it")
      ->transform(IsPath())
      ->needs(without);
  replay.callback([&options] {
    const bool of_part = options.page || options.bisect || options.without_actor;
    if (options.after && !of_part) {
      throw CLI::RequiresError("--after", "--page, --bisect or --without-actor");
    }
  });
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
  CLI::Option* const save =
      replay
          .add_option("--save", options.save,
                      "write the weights at the end of the replay as a checkpoint: x.safetensors")
          ->transform(IsPath())
          ->excludes(explain)
          ->excludes(write);
  AddQuestions(replay, options, {explain, from, save});
  for (const auto& [name, value] :
       {std::pair("--status-fd", &options.status_fd), std::pair("--parent", &options.parent)}) {
    replay.add_option(name, *value)->group("");  // the supervisor's
  }
  replay.add_option("--redo-s", options.redo_s)->group("");
  replay.add_flag("--restart", options.restart)->group("");
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

void AddWatch(CLI::App& app, watch::WatchOptions& options) {
  CLI::App& watch =
      *app.add_subcommand("watch", "Serve the page of a run, or of all runs in a directory.");
  watch.add_option("RUN_OR_DIR", options.target, "run directory, or a directory with runs")
      ->required()
      ->transform(IsPath());
  CLI::Option* port = watch.add_option("--port", options.port, "TCP port; default: any free one")
                          ->transform(IsInteger(0, 65'535));
  CLI::Option* bind =
      watch.add_option("--bind", options.bind, "address to serve at, over status.bind")
          ->type_name("ADDRESS")
          ->check(CLI::Validator(
              [](const std::string& text) {
                return LooksLikeAddress(text) ? "" : "\"" + text + "\" is no IPv4 or IPv6 address";
              },
              ""));
  CLI::Option* token =
      watch.add_option("--token-file", options.token_file, "over status.token_file")
          ->transform(IsPath());
  watch
      .add_flag("--health", options.health,
                "serve nothing, only say whether the runs at work are well: status 0 or 1")
      ->excludes(port)
      ->excludes(bind)
      ->excludes(token);
  watch.add_option("--parent", options.parent)->group("");  // of those that it starts itself
  watch.add_flag("--play", options.play)->group("");
}

void AddConform(CLI::App& app, Options& options) {
  CLI::App& conform = *app.add_subcommand("conform", "Replay a recorded trace against our game.");
  conform.add_option("TRACE", options.trace, "TRACE.jsonl.gz")->required()->transform(IsPath());
}

// All further arguments are those of starling-bench, in the directory of this program.
void AddBench(CLI::App& app) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure: see starling bench --help.");
  bench.prefix_command();
  bench.set_help_flag();
}

}  // namespace

void AddCommands(CLI::App& app, Options& options) {
  AddTrain(app, options);
  AddEval(app, options);
  AddPlay(app, options.play);
  AddRecord(app, options.record);
  AddExport(app, options.exported);
  AddSweep(app, options.sweep);
  AddReport(app, options.report);
  AddConform(app, options);
  AddDoctor(app, options.doctor);
  AddReplay(app, options.replay);
  AddSimulate(app, options);
  AddKeys(app, options);
  AddStop(app, options.stop);
  AddPrune(app, options.prune);
  AddWatch(app, options.watch);
  AddBench(app);
  app.add_subcommand("envs", "List the environments.");
}

}  // namespace starling::programs
