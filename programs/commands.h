// The command line's grammar: subcommands, options, the checks of their values. cli.cc runs the
// commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "fleet/train.h"
#include "tools/doctor/doctor.h"
#include "tools/exports/exports.h"
#include "tools/play/play.h"
#include "tools/prune/prune.h"
#include "tools/replay/replay.h"
#include "tools/report/report.h"
#include "tools/simulate/simulate.h"
#include "tools/stop/stop.h"
#include "tools/sweep/sweep.h"
#include "tools/watch/watch.h"

namespace starling::programs {

struct Options {
  fleet::TrainOptions train;
  std::string train_config, run_dir, resume, progress = "screen";
  play::EvalOptions eval;
  play::PlayOptions play;
  play::RecordOptions record;
  exports::ExportOptions exported;
  sweep::SweepOptions sweep;
  report::ReportOptions report;
  doctor::DoctorOptions doctor;
  replay::ReplayOptions replay;
  simulate::SimulateOptions simulate;
  stop::StopOptions stop;
  prune::PruneOptions prune;
  watch::WatchOptions watch;
  std::string simulated_run_dir, times_from, trace, keys_name, keys_dir = "keys";
};

// Adds every subcommand. `options` must outlive `app`.
void AddCommands(CLI::App& app, Options& options);

}  // namespace starling::programs
