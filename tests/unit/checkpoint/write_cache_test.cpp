// SPDX-License-Identifier: Apache-2.0
// The caches of task outputs in memory and in a file.
#include "checkpoint/cache_contract.hpp"
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <tuple>

namespace ss = superstep;
using namespace std::chrono_literals;
using namespace cache_contract;

BOOST_AUTO_TEST_SUITE(write_cache)

namespace {

class cached_in_memory {
public:
  explicit cached_in_memory(std::size_t max = 10) : held_{max, [this] { return now_; }} {}
  ss::write_cache& get() { return held_; }
  void advance(std::chrono::milliseconds by) { now_ += by; }

private:
  std::chrono::steady_clock::time_point now_;
  ss::memory_cache held_;
};

struct set_clock final : ss::clock {
  std::chrono::system_clock::time_point at{};
  [[nodiscard]] std::chrono::system_clock::time_point now() const override { return at; }
};

class cached_in_file {
public:
  explicit cached_in_file(std::size_t max = 10) : held_{folder_.file(), with(max, time_)} {}
  ss::sqlite_cache& get() { return held_; }
  void advance(std::chrono::milliseconds by) { time_.at += by; }
  [[nodiscard]] std::string file() const { return folder_.file(); }

private:
  static ss::sqlite_cache_options with(std::size_t max, const ss::clock& time) {
    auto out = ss::sqlite_cache_options{};
    out.entries_max = max;
    out.time = &time;
    return out;
  }
  temporary_folder folder_;
  set_clock time_;
  ss::sqlite_cache held_;
};

using caches = std::tuple<cached_in_memory, cached_in_file>;

} // namespace

#include "checkpoint/cache_cases.hpp"

BOOST_AUTO_TEST_CASE(file_cache_is_shared_and_sweeps_expired_outputs) {
  auto place = cached_in_file{};
  auto other = ss::sqlite_cache{place.file()};
  place.get().put("s", "k", going_to(1), {}, layout);
  place.get().put("s", "short", going_to(1), 1ms, layout);
  BOOST_TEST(other.find("s", "k", layout).has_value());
  place.advance(1ms);
  BOOST_TEST(place.get().sweep() == 1U);
}

BOOST_AUTO_TEST_CASE(failed_put_sets_last_failure) {
  auto place = cached_in_file{};
  auto made = ss::task_output{};
  made.sends.push_back({1, {}, ss::value{5}}); // to a node whose input type has no stored form
  place.get().put("s", "k", std::move(made), {}, layout);
  BOOST_TEST(!place.get().find("s", "k", layout));
  BOOST_TEST(place.get().last_failure().find("input of node 'b'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
