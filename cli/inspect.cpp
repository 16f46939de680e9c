// SPDX-License-Identifier: Apache-2.0
// superstep check AGENT. Also contains the options and checks that several verbs with an agent file
// share.
#include "cli/inspect.hpp"

#include "agents/yaml_fields.hpp"
#include "base/error_words.hpp"
#include "cli/commands.hpp"
#include "cli/estimate.hpp"
#include "cli/usage.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/batch/batch.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <span>
#include <utility>

namespace superstep::cli {

namespace {

void print_faults(const std::vector<agent_fault>& faults) {
  std::cerr << to_text(faults) << '\n' << counted(faults.size(), "fault") << '\n';
}

/// Prints the errors, warnings and notes of an agent.
void report(const agent_building& built) {
  warn(built.warnings);
  if (!built.agent)
    print_faults(built.faults);
  for (const auto& note : built.notes)
    std::cerr << note << '\n';
}

/// Adds the errors of find_setup_faults() for a file with other errors, so that the user sees all
/// errors at once. An option that was reported already is skipped: its value may be a default.
void add_setup_faults(const agent_spec& spec, io_runtime& io, std::vector<agent_fault>& faults) {
  const auto before = faults.size();
  for (auto& fault : find_setup_faults(spec, io)) {
    const auto is_reported = std::any_of(
        faults.begin(), faults.begin() + static_cast<std::ptrdiff_t>(before),
        [&fault](const auto& other) {
          return detail::is_within(fault.key, other.key) || detail::is_within(other.key, fault.key);
        });
    if (!is_reported)
      faults.push_back(std::move(fault));
  }
}

/// The arguments of `superstep check`.
struct check_arguments {
  inspect_arguments agent;
  run_arguments job; ///< the options of an input
  bool has_estimate = false;
};

int check(const check_arguments& asked) {
  const auto& given = asked.agent;
  const auto io = std::make_shared<io_runtime>();
  auto reading = read_agent_file(given.agent, given.overrides);
  reading.use = agent_use::check;
  const auto spec = reading.spec;
  auto built = build_agent(std::move(reading), io);
  if (!built.agent)
    add_setup_faults(spec, *io, built.faults);
  report(built);
  if (!built.agent)
    return failure_code(built);
  const auto& checked = *built.agent;
  if (!is_set_up(checked, *io))
    return 1;
  warn(checked.graph().warnings());
  auto input = std::string{};
  if (!asked.job.batch.input.empty()) {
    auto described = describe_input(asked.job, checked, asked.has_estimate);
    if (!described) {
      std::cerr << "superstep check: " << described.error().text << '\n';
      return 1;
    }
    input = *std::move(described);
  }
  std::cout << given.agent << ": ok, " << counted(checked.tools().size(), "tool");
  if (const auto below = checked.sub_agents().size(); below > 0)
    std::cout << " (" << counted(below, "agent") << ")";
  std::cout << '\n' << input << std::flush;
  return 0;
}

} // namespace

void add_agent_options(CLI::App& verb, inspect_arguments& into) {
  verb.add_option("AGENT", into.agent, "The agent file")->required()->check(named_file());
  verb.add_option("--set", into.overrides, "key.path=value: overrides a key of the agent file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

agent_building build(const inspect_arguments& given, const std::shared_ptr<io_runtime>& io,
                     const std::function<void(agent_reading&)>& change) {
  auto reading = read_agent_file(given.agent, given.overrides);
  if (change)
    change(reading);
  auto built = build_agent(std::move(reading), io);
  report(built);
  return built;
}

agent_building build_to_show(const inspect_arguments& given,
                             const std::shared_ptr<io_runtime>& io) {
  return build(given, io, [](agent_reading& reading) { reading.use = agent_use::show; });
}

int failure_code(const agent_building& built) noexcept {
  return static_cast<int>(has_shortage(built.faults) ? exit_code::shortage : exit_code::failed);
}

bool is_set_up(const agent& checked, io_runtime& io) {
  const auto faults = find_setup_faults(checked, io);
  if (!faults.empty())
    print_faults(faults);
  return faults.empty();
}

void warn(const std::vector<fault>& warnings) {
  for (const auto& w : warnings)
    std::cerr << "warning: " << w.text << '\n';
}

void warn(const std::vector<agent_fault>& warnings) {
  for (const auto& w : warnings)
    std::cerr << "warning: " << to_text(w) << '\n';
}

void add_check(CLI::App& program, action& chosen) {
  auto given = std::make_shared<check_arguments>();
  auto& verb =
      *program.add_subcommand("check", "Report all errors of an agent file and of a batch input");
  add_agent_options(verb, given->agent);
  auto* input = verb.add_option("-i,--input", given->job.batch.input,
                                "Also check the rows of this file, as superstep run does; - for "
                                "standard input")
                    ->check(not_empty());
  const auto before = verb.get_options().size();
  auto* estimate =
      verb.add_flag("--estimate", given->has_estimate,
                    "Estimate the input tokens of the rows' first model calls, and their cost");
  add_input_options(verb, given->job);
  const auto all = verb.get_options();
  for (auto* const option : std::span{all}.subspan(before))
    option->needs(input);
  verb.add_option("--prices", given->job.stop.prices, "JSON file with prices of models")
      ->check(named_file())
      ->needs(estimate);
  verb.footer(
      "Examples:\n  superstep check agent.yaml --set version=v1\n"
      "  superstep check agent.yaml --input rows.csv --estimate\n\n"
      "Also reads the files that the agent file refers to. Warnings go to standard error; an API\n"
      "key that is not set is a warning.\n"
      "Exit code: 0 no errors (warnings are allowed), 4 the machine lacks file descriptors or\n"
      "memory, 1 any other error.");
  verb.callback([given, &chosen] { chosen = [given] { return check(*given); }; });
}

} // namespace superstep::cli
