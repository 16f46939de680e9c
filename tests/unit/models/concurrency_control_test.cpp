// SPDX-License-Identifier: Apache-2.0
// The adaptive limiter against simulated servers, in virtual time.
#include "models/http/concurrency_control.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <ostream>
#include <queue>
#include <random>
#include <vector>

using superstep::models::concurrency_control;
using superstep::models::concurrency_options;

BOOST_AUTO_TEST_SUITE(concurrency_control_suite)

namespace {

using time_point = concurrency_control::time_point;

constexpr auto seeds = 2U; // more would take too long in a debug build

struct server {
  double capacity = std::numeric_limits<double>::infinity(); ///< concurrent calls that it accepts
  double refused_at_random = 0;
  double answer_seconds = 0.1;  ///< mean
  double refusal_seconds = 0.1; ///< mean
};

/// Simulates `demand` clients that call one server through the limiter, each waiting for its
/// answer.
class simulation {
public:
  simulation(server s, concurrency_options options, std::size_t demand, unsigned seed)
      : server_{s}, control_{options}, demand_{demand}, random_{seed} {}

  /// Accepted answers per second.
  double run(double seconds) {
    const auto end = now_ + seconds;
    const auto good_before = good_;
    send();
    while (!events_.empty() && events_.top().at <= end) {
      const auto next = events_.top();
      events_.pop();
      now_ = next.at;
      finish(next);
      send();
    }
    now_ = end;
    return static_cast<double>(good_ - good_before) / seconds;
  }

  server& at() { return server_; }
  [[nodiscard]] std::size_t limit() const { return control_.limit(); }
  [[nodiscard]] double refused_share() const {
    return static_cast<double>(refused_) / static_cast<double>(refused_ + good_);
  }
  void forget_counts() { good_ = refused_ = 0; }

private:
  struct event {
    double at;
    double sent;
    bool is_refused;
    bool operator<(const event& other) const { return at > other.at; }
  };

  double draw(double mean) { // uniform between 0.5 and 1.5 times the mean
    return mean * std::uniform_real_distribution<>{0.5, 1.5}(random_);
  }
  static time_point point(double seconds) {
    return time_point{std::chrono::seconds{1'000}} +
           std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * 1e9)};
  }
  void send() {
    const auto limit = control_.limit();
    while (in_flight_ < demand_ && (limit == 0 || in_flight_ < limit)) {
      ++in_flight_;
      const auto is_refused = static_cast<double>(accepted_) >= server_.capacity ||
                              std::bernoulli_distribution{server_.refused_at_random}(random_);
      accepted_ += is_refused ? 0 : 1;
      const auto lasts = draw(is_refused ? server_.refusal_seconds : server_.answer_seconds);
      events_.push({now_ + lasts, now_, is_refused});
    }
  }
  void finish(const event& e) {
    if (e.is_refused) {
      ++refused_;
      control_.refused(point(e.sent), point(e.at), in_flight_);
    } else {
      ++good_;
      --accepted_;
      control_.answered(point(e.at), in_flight_);
    }
    --in_flight_;
  }

  server server_;
  concurrency_control control_;
  std::size_t demand_;
  std::mt19937_64 random_;
  std::priority_queue<event> events_;
  double now_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t accepted_ = 0;
  std::size_t good_ = 0;
  std::size_t refused_ = 0;
};

struct random_case {
  double share;
  double answer_seconds;
  double refusal_seconds;
  std::size_t limit;
  double wanted; ///< expected share of the fault-free throughput
};
std::ostream& operator<<(std::ostream& out, const random_case& c) {
  return out << c.share << " refused, " << c.answer_seconds << " s, refusal " << c.refusal_seconds
             << " s, limit " << c.limit;
}
const auto random_cases = std::vector<random_case>{
    {0.01, 0.1, 0.1, 500, 0.95},   {0.05, 0.1, 0.1, 500, 0.9},   {0.05, 0.1, 0.001, 500, 0.95},
    {0.01, 0.02, 0.02, 500, 0.95}, {0.05, 0.02, 0.02, 500, 0.9}, {0.05, 2, 2, 500, 0.9},
    {0.2, 0.1, 0.1, 500, 0.85},    {0.5, 0.1, 0.1, 500, 0.75},   {0.5, 0.1, 0.001, 500, 0.85},
    {0.05, 0.1, 0.1, 32, 0.8},     {0.05, 0.1, 0.1, 4, 0.7},     {0.05, 0.1, 0.1, 0, 0.9}};

struct capacity_case {
  double capacity;
  double answer_seconds;
  double refusal_seconds;
  double refused_at_random;
  std::size_t limit;
};
std::ostream& operator<<(std::ostream& out, const capacity_case& c) {
  return out << "capacity " << c.capacity << ", limit " << c.limit << ", " << c.answer_seconds
             << " s, refusal " << c.refusal_seconds << " s, at random " << c.refused_at_random;
}
const auto capacity_cases = std::vector<capacity_case>{
    {500, 0.1, 0.1, 0, 1000},    {500, 0.1, 0.001, 0, 1000},  {500, 1, 0.01, 0, 2000},
    {500, 0.1, 0.1, 0.01, 1000}, {500, 0.1, 0.1, 0.05, 1000}, {500, 0.1, 0.001, 0.05, 1000},
    {50, 0.1, 0.01, 0, 1000},    {10, 0.1, 0.001, 0, 256},    {10, 0.1, 0.1, 0, 256},
    {500, 0.1, 0.01, 0, 0},      {500, 5, 0.02, 0, 1000}};

} // namespace

BOOST_DATA_TEST_CASE(throughput_stays_high_despite_random_refusals,
                     boost::unit_test::data::make(random_cases), c) {
  for (auto seed = 1U; seed <= seeds; ++seed) {
    const auto demand = c.limit == 0 ? std::size_t{500} : c.limit;
    auto run = simulation{{.refused_at_random = c.share,
                           .answer_seconds = c.answer_seconds,
                           .refusal_seconds = c.refusal_seconds},
                          {.limit_max = c.limit},
                          demand,
                          seed};
    run.run(50 * c.answer_seconds);
    const auto rate = run.run(200 * c.answer_seconds);
    const auto mean = (1 - c.share) * c.answer_seconds + c.share * c.refusal_seconds;
    const auto allowed = static_cast<double>(demand) * (1 - c.share) / mean;
    BOOST_TEST_MESSAGE(c << ": " << rate / allowed);
    BOOST_TEST(rate >= c.wanted * allowed, "seed " << seed << ": " << rate << " of " << allowed);
  }
}

BOOST_DATA_TEST_CASE(limit_converges_to_server_capacity_within_ten_percent,
                     boost::unit_test::data::make(capacity_cases), c) {
  for (auto seed = 1U; seed <= seeds; ++seed) {
    auto run = simulation{{c.capacity, c.refused_at_random, c.answer_seconds, c.refusal_seconds},
                          {.limit_max = c.limit},
                          2'000,
                          seed};
    run.run(100 * c.answer_seconds);
    run.forget_counts();
    const auto rate = run.run(200 * c.answer_seconds);
    BOOST_TEST_MESSAGE(c << ": rate " << rate / (c.capacity / c.answer_seconds) << ", refused "
                         << run.refused_share());
    BOOST_TEST(rate >= 0.9 * c.capacity / c.answer_seconds, "seed " << seed << ": " << rate);
    // The limit is averaged over time because an attempt to raise it may be in progress.
    auto sum = 0.0;
    for (auto i = 0; i < 50; ++i) {
      run.run(c.answer_seconds);
      sum += static_cast<double>(run.limit());
    }
    const auto random_calls = c.refused_at_random * c.refusal_seconds / c.answer_seconds;
    const auto wanted = c.capacity * (1 + random_calls);
    BOOST_TEST(std::abs(sum / 50 - wanted) <= 0.1 * wanted + 1,
               "seed " << seed << ": limit " << sum / 50);
    BOOST_TEST(run.refused_share() < 0.4 + c.refused_at_random);
  }
}

BOOST_AUTO_TEST_CASE(limit_follows_changing_server_capacity) {
  auto run = simulation{{.capacity = 400, .refusal_seconds = 0.01}, {.limit_max = 1'000}, 2'000, 7};
  run.run(20);
  for (const auto capacity : {40.0, 800.0, 100.0, 400.0}) {
    run.at().capacity = capacity;
    run.run(20);
    const auto rate = run.run(20) / (capacity / 0.1);
    BOOST_TEST(rate > 0.88, capacity << ": " << rate);
  }
}

BOOST_AUTO_TEST_CASE(limit_recovers_from_an_outage) {
  auto run = simulation{{.refusal_seconds = 0.005}, {.limit_max = 500}, 2'000, 3};
  run.run(5);
  run.at().capacity = 0;
  run.run(10);
  BOOST_TEST(run.limit() == 1u);
  run.at().capacity = std::numeric_limits<double>::infinity();
  run.run(20);
  BOOST_TEST(run.limit() == 500u);
}

BOOST_AUTO_TEST_CASE(limit_is_lowered_once_per_congestion_event) {
  auto control = concurrency_control{{.limit_max = 1'000}};
  const auto t = time_point{std::chrono::seconds{10}};
  // A thousand simultaneous refusals are one congestion event and change the limit once.
  auto changes = 0;
  auto last = control.limit();
  for (auto i = 0; i < 1'000; ++i) {
    control.refused(t, t + std::chrono::milliseconds{50}, 1'000);
    changes += control.limit() != last ? 1 : 0;
    last = control.limit();
  }
  BOOST_TEST(changes <= 1);
  BOOST_TEST(control.limit() >= 250u);
}

BOOST_AUTO_TEST_CASE(limit_stays_between_configured_minimum_and_maximum) {
  auto run = simulation{
      {.capacity = 0, .refusal_seconds = 0.01}, {.limit_max = 64, .limit_min = 5}, 200, 1};
  for (auto i = 0; i < 1'000; ++i) {
    run.run(0.05);
    BOOST_TEST_REQUIRE(run.limit() >= 5u);
  }
  BOOST_TEST(run.limit() == 5u);
  run.at().capacity = 1'000;
  for (auto i = 0; i < 1'000; ++i) {
    run.run(0.05);
    BOOST_TEST_REQUIRE(run.limit() <= 64u);
  }
  BOOST_TEST(run.limit() == 64u);
}

BOOST_AUTO_TEST_CASE(only_consecutive_refusals_count_as_an_outage) {
  auto control = concurrency_control{{.limit_max = 100}};
  auto t = time_point{std::chrono::seconds{10}};
  for (auto i = 0; i < 1'000; ++i) { // one in four is refused
    t += std::chrono::milliseconds{1};
    if (i % 4 == 0)
      control.refused(t, t, 100);
    else
      control.answered(t, 100);
    BOOST_TEST_REQUIRE(!control.is_shut_out());
  }
  auto refusals = 0;
  for (; !control.is_shut_out(); ++refusals)
    control.refused(t, t, 100);
  BOOST_TEST(refusals <= 16);
  control.answered(t, 100);
  BOOST_TEST(!control.is_shut_out());
}

BOOST_AUTO_TEST_SUITE_END()
