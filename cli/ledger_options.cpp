// SPDX-License-Identifier: Apache-2.0
// The options of verbs that work with a job that several processes share.
#include "cli/ledger_options.hpp"

#include "cli/usage.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <array>

namespace superstep::cli {

CLI::Option* add_ledger_option(CLI::App& verb, ledger_arguments& into) {
  auto* const insecure =
      verb.add_flag("--insecure-ledger", into.is_insecure_allowed,
                    "Accept a connection to another machine that does not verify the server");
  auto* const ledger =
      verb.add_option("--ledger", into.ledger,
                      "PostgreSQL database with the job, such as postgresql://db.example.com/jobs; "
                      "the password comes from ~/.pgpass, a service file or PGPASSWORD")
          ->type_name("URL")
          ->check(not_empty());
  insecure->needs(ledger);
  return ledger;
}

CLI::Option* add_job_option(CLI::App& verb, ledger_arguments& into) {
  return verb.add_option("--job", into.job, "Name of the job in the ledger")
      ->type_name("NAME")
      ->check(not_empty());
}

void add_shared_run_options(CLI::App& verb, ledger_arguments& into) {
  auto* const ledger = add_ledger_option(verb, into);
  auto* const job = add_job_option(verb, into);
  ledger->needs(job);
  job->needs(ledger);
  verb.add_option("--parts", into.parts,
                  "Folder on a disk that all machines share: output lines are written to files in "
                  "it, and the ledger stores only their places")
      ->check(not_empty())
      ->needs(ledger);
  add_number(verb, "--lease-ms", into.lease_ms,
             "Time after which other workers take over the rows of a worker that does not answer",
             1'000, 3'600'000);
  verb.get_option("--lease-ms")->needs(ledger);
  for (const auto* name : {"AGENT", "--input", "--output"})
    verb.get_option(name)->required(false);
  verb.parse_complete_callback([&verb, &into] {
    if (!into.is_set()) {
      for (const auto* name : {"AGENT", "--input", "--output"})
        if (verb.count(name) == 0)
          throw CLI::RequiredError(name);
      return;
    }
    constexpr auto of_files = std::array{
        "--input",       "--output",        "--fields",       "--output-format", "--order",
        "--fresh",       "--limit",         "--shard",        "--sample",        "--repeat",
        "--seed",        "--retry-dead",    "--id-field",     "--matrix",        "--gold",
        "--gold-file",   "--judge",         "--group-prefix", "--delimiter",     "--input-format",
        "--on-bad-line", "--max-line-bytes"};
    for (const auto* name : of_files)
      if (verb.count(name) > 0)
        throw CLI::ExcludesError(name, "--ledger");
  });
}

result<std::string> ledger_key() {
  try {
    return encryption_key_from_environment();
  } catch (const checkpoint_error& e) {
    return error{e.code(), e.what()};
  }
}

result<detail::pg_connection> open_ledger(const ledger_arguments& given) {
  auto address = detail::check_address(given.ledger, given.is_insecure_allowed);
  if (!address)
    return address.error();
  auto connection = detail::pg_connection{*std::move(address)};
  if (auto connected = connection.connect(); !connected)
    return connected.error();
  return connection;
}

} // namespace superstep::cli
