// SPDX-License-Identifier: Apache-2.0
// The command line: parses arguments, calls the library, prints.
#include "cli/commands.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  auto program = CLI::App{"Runs LLM agents as graphs, many at a time.", "superstep"};
  auto chosen = superstep::cli::action{};
  superstep::cli::add_run(program, chosen);
  superstep::cli::add_chat(program, chosen);
  superstep::cli::add_graph(program, chosen);
  superstep::cli::add_check(program, chosen);
  superstep::cli::add_threads(program, chosen);
  program.require_subcommand(1);
  program.footer("superstep VERB --help says more, with examples.");
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // CLI11 has a number per kind of mistake; ours are 0 for help and 1 for the rest.
    return program.exit(e) == 0 ? 0 : 1;
  }
  try {
    return chosen();
  } catch (const std::exception& e) {
    std::cerr << "superstep: " << e.what() << '\n';
    return 1;
  }
}
