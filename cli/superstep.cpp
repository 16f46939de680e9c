// SPDX-License-Identifier: Apache-2.0
// The program `superstep`: parses the command line and calls the chosen verb.
#include "cli/commands.hpp"
#include "cli/out_of_resources.hpp"
#include "cli/standard_output.hpp"
#include "cli/usage.hpp"
#include "net/descriptor_limit.hpp"

#include <superstep/base/error.hpp>
#include <superstep/batch/batch.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <iostream>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace {

/// Opens /dev/null for standard streams that are closed. Otherwise the next file that the program
/// opens would get the descriptor of standard output, and printed text would be written to it. The
/// streams are opened in the wrong direction on purpose, so that using them is still an error.
void fill_closed_standard_streams() {
  for (const auto fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

/// A verb and the function that adds it to the program.
struct verb {
  std::string_view name;
  void (*add)(CLI::App& program, superstep::cli::action& chosen);
};

constexpr auto verbs = std::array<verb, 12>{{
    {"run", superstep::cli::add_run},
    {"chat", superstep::cli::add_chat},
    {"graph", superstep::cli::add_graph},
    {"check", superstep::cli::add_check},
    {"threads", superstep::cli::add_threads},
    {"report", superstep::cli::add_report},
    {"row", superstep::cli::add_row},
    {"diff", superstep::cli::add_diff},
    {"score", superstep::cli::add_score},
    {"batch-api", superstep::cli::add_batch_api},
    {"submit", superstep::cli::add_submit},
    {"jobs", superstep::cli::add_jobs},
}};

/// Adds the verb that the first argument names. Adds all verbs if it names none, for the help and
/// for errors. Describing the options of all verbs is a sixth of the work to start the program.
void add_verbs(CLI::App& program, superstep::cli::action& chosen, std::string_view first) {
  const auto* const named = std::ranges::find(verbs, first, &verb::name);
  if (named != verbs.end())
    return named->add(program, chosen);
  for (const auto& each : verbs)
    each.add(program, chosen);
}

/// Parses the arguments and runs the chosen verb. Returns the exit status.
int run_program(int argc, char** argv) {
  auto program = CLI::App{"Runs LLM agents as graphs, many at a time.", "superstep"};
  auto chosen = superstep::cli::action{};
  add_verbs(program, chosen, argc > 1 ? argv[1] : "");
  program.set_version_flag("--version", "superstep " SUPERSTEP_VERSION,
                           "Print the version and exit");
  program.require_subcommand(1);
  program.failure_message(superstep::cli::usage_error);
  program.footer("superstep VERB --help shows details and examples.");
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // CLI11 has an exit status for each kind of error. This program returns 0 for help and the
    // version, and 1 for errors.
    if (program.exit(e) != 0)
      return 1;
    chosen = [] { return 0; }; // help or the version was printed
  }
  const auto code = chosen();
  if (code == 0 && !(std::cout << std::flush)) {
    if (superstep::cli::has_reader_ended())
      return superstep::cli::reader_ended_code;
    std::cerr << "superstep: cannot write to standard output; check where it is redirected\n";
    return 1;
  }
  return code;
}

} // namespace

int main(int argc, char** argv) {
  superstep::cli::end_with_shortage_on_terminate();
  fill_closed_standard_streams();
  superstep::raise_descriptor_limit();
  std::signal(SIGXFSZ, SIG_IGN); // exceeding the file-size limit must be a write error
  try {
    return run_program(argc, argv);
  } catch (const std::exception& e) {
    using superstep::exit_code;
    const auto code = superstep::failure_code(std::current_exception(), {});
    std::cerr << "superstep: " << e.what() << '\n';
    return static_cast<int>(code == superstep::errc::shortage ? exit_code::shortage
                                                              : exit_code::failed);
  }
}
