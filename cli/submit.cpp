// SPDX-License-Identifier: Apache-2.0
// superstep submit AGENT --input in.jsonl --ledger URL --job NAME: stores the rows of a job in a
// ledger, where `superstep run --ledger` finds them.
#include "ledger/submit.hpp"

#include "base/error_words.hpp"
#include "cli/commands.hpp"
#include "cli/inspect.hpp"
#include "cli/interrupts.hpp"
#include "cli/run_options.hpp"
#include "cli/usage.hpp"

#include <superstep/batch/batch.hpp>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

namespace superstep::cli {

namespace {

struct submit_arguments {
  run_arguments rows;
  ledger_arguments shared;
  std::optional<std::uint64_t> chunk_rows; ///< not set: chosen by the size of the job
};

int fail_submit(const std::string& text) {
  std::cerr << "superstep submit: " << text << '\n';
  return static_cast<int>(exit_code::failed);
}

int submit(const submit_arguments& given) {
  install_interrupts();
  const auto io = std::make_shared<io_runtime>();
  const auto built = build_to_show({given.rows.agent, given.rows.overrides}, io);
  if (!built.agent)
    return failure_code(built);
  auto connection = open_ledger(given.shared);
  if (!connection)
    return fail_submit(connection.error().text);
  auto options = options_of(given.rows, *built.agent);
  options.output = given.rows.batch.input; // the folder of temporary copies
  auto stored = detail::submit_options{};
  stored.agent = std::filesystem::absolute(given.rows.agent).lexically_normal().string();
  stored.chunk_rows = given.chunk_rows.value_or(0);
  auto key = ledger_key();
  if (!key)
    return fail_submit(key.error().text);
  stored.key = *std::move(key);
  const auto submitted =
      detail::submit_job(*connection, given.shared.job, options, stored, interrupts());
  if (!submitted)
    return fail_submit(submitted.error().text);
  std::cout << "the job " << given.shared.job << " has " << counted(submitted->rows, "row");
  if (submitted->was_complete)
    std::cout << "; it was submitted before";
  else if (submitted->rows_before > 0)
    std::cout << "; " << submitted->rows_before << " were stored before";
  std::cout << "\nrun it on any number of machines with superstep run --ledger URL --job "
            << given.shared.job << std::endl;
  return static_cast<int>(exit_code::ok);
}

constexpr auto submit_examples = R"(Examples:
  superstep submit agent.yaml --input rows.jsonl --ledger postgresql:///jobs --job reviews
  superstep run --ledger postgresql:///jobs --job reviews
  superstep jobs export --ledger postgresql:///jobs --job reviews --output out.jsonl

The tables are created in the schema "superstep" of the database. An interrupted submit continues
when it is run again.)";

} // namespace

void add_submit(CLI::App& program, action& chosen) {
  auto given = std::make_shared<submit_arguments>();
  auto& verb =
      *program.add_subcommand("submit", "Store the rows of a file as a job for many machines");
  add_row_options(verb, given->rows);
  for (const auto* name : {"--group-prefix", "--on-bad-line"})
    verb.remove_option(verb.get_option(name));
  add_ledger_option(verb, given->shared)->required();
  add_job_option(verb, given->shared)->required();
  add_number(verb, "--chunk-rows", given->chunk_rows,
             "Rows that a process takes at a time (default: 256 to 1024, fewer for large rows)", 1,
             4'096);
  verb.footer(submit_examples);
  verb.callback([given, &chosen] { chosen = [given] { return submit(*given); }; });
}

} // namespace superstep::cli
