// SPDX-License-Identifier: Apache-2.0
// The shared limits in memory, which the simulation uses, and a real server grant the same after
// any sequence of requests.
//
// SUPERSTEP_SEEDS (10) sets the number of sequences, and SUPERSTEP_FIRST_SEED (1) the first seed.
#include "postgres/limit_functions.hpp"
#include "postgres_server.hpp"
#include "support/environment.hpp"
#include "unit/postgres/model_grants.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <array>
#include <random>

namespace {

using namespace superstep::testing;
using superstep::detail::limit_amounts;
using superstep::detail::limit_request;
using superstep::detail::pg_connection;
using superstep::test::number_from_environment;

constexpr auto names = std::array{"a", "b", "c", "d"};

/// Replaces the clock of the database function by one that the test sets.
void replace_clock(pg_connection& connection) {
  const auto replaced = connection.run_script(R"sql(
create table superstep.test_clock (now timestamptz not null, started timestamptz not null);
insert into superstep.test_clock values ('epoch', 'epoch');
do $do$
begin
  execute replace(replace(pg_get_functiondef('superstep.grant_limits'::regproc),
                          'clock_timestamp()', '(select c.now from superstep.test_clock c)'),
                  'pg_postmaster_start_time()', '(select c.started from superstep.test_clock c)');
end $do$;
)sql");
  BOOST_TEST_REQUIRE(replaced.has_value(), (replaced ? "" : replaced.error().text));
}

/// Requests of several processes to both, at times that both know.
class grant_sequence {
public:
  grant_sequence(pg_connection& connection, std::uint64_t seed)
      : connection_{connection}, key_{fmt::format("key-{}", seed)}, random_{seed} {
    set_clock("started"); // before the first request
  }

  void step() {
    constexpr auto pauses = std::array{200, 2'000, 400'000, 400'000, 400'000, 5'000'000};
    now_ += model_grants::time{pick(1, pauses[static_cast<std::size_t>(pick(0, 5))])};
    set_clock("now");
    if (pick(1, 50) == 1) {
      set_clock("started");
      model_.restart(now_);
    }
    const auto process = static_cast<std::size_t>(pick(0, names.size() - 1));
    auto asked = limit_request{};
    for (auto d = std::size_t{0}; d < asked.want.size(); ++d) {
      const auto is_waiting = pick(1, 2) == 1;
      asked.want[d] = is_waiting ? std::int64_t{1} << 40U : pick(0, 40);
      asked.need[d] = is_waiting ? pick(0, 3) : 0;
      asked.back[d] = pick(1, 4) == 1 ? pick(-5, 5) : 0;
    }
    // The processes do not agree about the limits.
    const auto quota = limit_amounts{process == 3 ? 900 : 1'200, process == 2 ? 0 : 3'000};
    const auto expected = model_.grant(names[process], quota, asked, now_);
    BOOST_TEST(ask_server(names[process], quota, asked) == expected,
               boost::test_tools::per_element());
  }

private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>{low, high}(random_);
  }
  void set_clock(const char* column) {
    const auto done = connection_.run_script(
        fmt::format("update superstep.test_clock set {} = timestamptz 'epoch' + {} * "
                    "interval '1 microsecond'",
                    column, now_.count())
            .c_str());
    BOOST_TEST_REQUIRE(done.has_value(), (done ? "" : done.error().text));
  }
  limit_amounts ask_server(const char* name, const limit_amounts& quota,
                           const limit_request& asked) {
    const auto list = [](const limit_amounts& of) {
      return fmt::format("{{{},{}}}", of[0], of[1]);
    };
    const auto answer = connection_.run(
        fmt::format("select superstep.grant_limits('{}', '{}', 60000, '{}', '{}', '{}', '{}')",
                    key_, name, list(quota), list(asked.want), list(asked.need), list(asked.back))
            .c_str());
    BOOST_TEST_REQUIRE(answer.has_value(), (answer ? "" : answer.error().text));
    const auto numbers = answer->numbers(0, 0);
    BOOST_TEST_REQUIRE(numbers.size() == 2U);
    return {numbers[0], numbers[1]};
  }

  pg_connection& connection_;
  std::string key_;
  std::mt19937_64 random_;
  model_grants model_;
  model_grants::time now_ = std::chrono::hours{1};
};

} // namespace

BOOST_AUTO_TEST_CASE(model_and_server_grant_the_same) {
  const auto server = postgres_server{};
  auto connection = server.connect();
  BOOST_TEST_REQUIRE(superstep::detail::prepare_limits(connection).has_value());
  replace_clock(connection);
  const auto sequences = number_from_environment("SUPERSTEP_SEEDS", 10);
  const auto first = number_from_environment("SUPERSTEP_FIRST_SEED", 1);
  for (auto seed = first; seed < first + sequences; ++seed) {
    auto checked = grant_sequence{connection, seed};
    BOOST_TEST_CONTEXT("seed " << seed)
    for (auto step = 0; step < 200; ++step)
      checked.step();
  }
}
