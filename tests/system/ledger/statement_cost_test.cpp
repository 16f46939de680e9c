// SPDX-License-Identifier: Apache-2.0
// The statements of a worker read the rows of its chunks only, however many rows the job has. The
// server counts the pages that a statement reads.
#include "ledger/submit.hpp"
#include "postgres_server.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>

BOOST_AUTO_TEST_SUITE(ledger_statement_costs)

namespace {

using namespace superstep::testing;
using namespace superstep::detail;

constexpr auto chunk_rows = 64;
constexpr auto open_rows = 4 * chunk_rows;

/// Creates a job whose rows are stored, except those of the last chunks.
std::int64_t make_long_job(pg_connection& connection, int rows) {
  const auto created = connection.run(
      fmt::format("select superstep.create_job('{}', '{}', 0, '', '', {})", rows, rows, chunk_rows)
          .c_str());
  BOOST_TEST_REQUIRE(created.has_value());
  const auto job = created->number(0, 0);
  const auto script = fmt::format(
      "insert into superstep.inputs select {0}, i, i, repeat('x', 200) "
      "from generate_series(0, {1} - 1) i; update superstep.jobs set rows = {1} where job = {0};"
      "select superstep.open_job({0}, {2});"
      "insert into superstep.outputs select {0}, i, 1, 0, repeat('x', 500) "
      "from generate_series(0, {1} - {3} - 1) i;"
      "update superstep.chunks set state = 2, ok = {2} where job = {0} and first < {1} - {3}",
      job, rows, chunk_rows, open_rows);
  BOOST_TEST_REQUIRE(connection.run_script(script.c_str()).has_value());
  return job;
}

/// Calls a function. Returns the number of pages that the server has read.
std::int64_t pages_of(pg_connection& connection, const std::string& call) {
  const auto explained = connection.run(
      ("explain (analyze, buffers, format json) select * from superstep." + call).c_str());
  BOOST_TEST_REQUIRE(explained.has_value(), (explained ? "" : explained.error().text));
  const auto text = std::string{explained->text(0, 0)};
  auto out = std::int64_t{0};
  for (const auto* const kind : {"\"Shared Hit Blocks\": ", "\"Shared Read Blocks\": "}) {
    const auto at = text.find(kind); // of the whole statement
    BOOST_TEST_REQUIRE(at != std::string::npos, text);
    out += std::atoll(text.c_str() + at + std::string{kind}.size());
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(statements_read_only_rows_of_their_chunks) {
  const auto server = postgres_server{};
  server.run(
      "alter system set autovacuum = off"); // statistics of new tables are missing for a while
  server.run("select pg_reload_conf()");
  auto connection = server.connect();
  BOOST_TEST_REQUIRE(prepare_ledger(connection).has_value());
  constexpr auto small = 1'024;
  constexpr auto large = 32 * small;
  constexpr auto calls = std::array{
      "lease({0}, 'w', 'h', 60000, 1, false, 0, false)",
      "read({0}, '{{{1}}}', '{{{2}}}')",
      "commit({0}, 'w', 60000, '{{{1}}}', '{{1}}', '{{{1}}}', '{{{1}}}', "
      "'{{1,0,0,0,0,0,0,0,0,0,0,0,0}}', '{{{1}}}', '{{1}}', '{{0}}', '{{a}}', '{{\"\"}}', true)",
      "read({0}, '{{{1}}}', '{{{2}}}')", // one row is stored now
      "beat({0}, 'w', 'h', 60000, false, true)",
      "resolve({0}, 'w', 60000, '{{{1}}}', false)",
      "lease({0}, 'v', 'h', 60000, 4, false, 0, false)",
      "lease({0}, 'u', 'h', 60000, 1, true, 0, false)"};
  auto pages = std::array<std::array<std::int64_t, calls.size()>, 2>{};
  for (const auto rows : {small, small, large}) { // the first calls also read the catalogue
    const auto name = make_long_job(connection, rows);
    const auto first = rows - open_rows;
    for (auto i = std::size_t{0}; i < calls.size(); ++i)
      pages[rows == large ? 1 : 0][i] = pages_of(
          connection, fmt::format(fmt::runtime(calls[i]), name, first, first + chunk_rows));
    if (rows == small)
      server.run("select superstep.drop_job((select job from superstep.jobs))");
  }
  for (auto i = std::size_t{0}; i < calls.size(); ++i) {
    BOOST_TEST_MESSAGE(calls[i] << ": " << pages[0][i] << " and " << pages[1][i] << " pages");
    BOOST_TEST(pages[1][i] < 3 * pages[0][i] + 20, calls[i]);
  }
}

BOOST_AUTO_TEST_SUITE_END()
