// SPDX-License-Identifier: Apache-2.0
// The counts of jobs that several processes share, if rows are dropped or run again.
#include "shared_job_files.hpp"

#include <string>

namespace {

using namespace superstep::testing;

/// Returns the server of these tests, without a ledger.
const postgres_server& server_without_ledger() {
  static const auto server = postgres_server{};
  server.run("drop schema if exists superstep cascade");
  return server;
}

} // namespace

/// Each row uses 15 tokens and then fails, so that the job stops without a row that has ended.
BOOST_AUTO_TEST_CASE(job_counts_tokens_of_dropped_rows) {
  const auto& server = server_without_ledger();
  const auto files = shared_job_files{server, 60};
  files.job.write("model.yaml", "rules:\n- type: human\n  match: '2\\+(\\d+)'\n"
                                "  calls: [{name: calculator, args: {expression: '2 + \\1'}}]\n"
                                "  usage: {input_tokens: 10, output_tokens: 5}\n");
  files.submit();
  const auto end = files.worker()->wait();
  BOOST_TEST(end.exit_code == 3, end.out + end.err);
  BOOST_TEST(files.stored() == 0);
  const auto used = server.value("select sum(total_tokens) from superstep.chunks");
  BOOST_TEST(std::stoi("0" + used) >= 50 * 15);
  BOOST_TEST(server.value("select sum(tokens) from superstep.spent") == used);
}
