// SPDX-License-Identifier: Apache-2.0
// The caches of task outputs in memory and in a file.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <tuple>

namespace ss = superstep;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(write_cache)

namespace {

ss::task_output going_to(std::uint32_t node) {
  auto out = ss::task_output{};
  out.targets = {node};
  return out;
}

// The contract of superstep::write_cache as tests, for all implementations.
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
const auto layout = checkpointer_contract::usual_layout();

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(find_returns_latest_output_of_key, Place, caches) {
  auto place = Place{};
  ss::write_cache& cache = place.get();
  cache.put("g/a", "1", going_to(0), {}, layout);
  cache.put("g/a", "1", going_to(1), {}, layout);
  BOOST_TEST(cache.find("g/a", "1", layout)->targets.at(0) == 1U);
  BOOST_TEST(!cache.find("g/a", "2", layout));
  BOOST_TEST(!cache.find("g/b", "1", layout));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(find_restores_writes_and_sends_of_output, Place, caches) {
  auto place = Place{};
  auto made = going_to(1);
  made.writes.push_back(checkpointer_contract::set_n(7));
  made.sends.push_back({0, ss::send::milliseconds{20}, ss::value{5}});
  place.get().put("s", "k", std::move(made), {}, layout);
  const auto found = place.get().find("s", "k", checkpointer_contract::usual_layout());
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(found->writes.at(0).content.template as<int>() == 7);
  BOOST_TEST(found->sends.at(0).timeout.count() == 20U);
  BOOST_TEST(found->sends.at(0).input.template as<int>() == 5);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(output_expires_after_ttl, Place, caches) {
  auto place = Place{};
  ss::write_cache& cache = place.get();
  cache.put("s", "k", going_to(1), 5ms, layout);
  place.advance(4ms);
  BOOST_TEST(cache.find("s", "k", layout).has_value());
  place.advance(1ms);
  BOOST_TEST(!cache.find("s", "k", layout));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(full_cache_drops_its_oldest_outputs, Place, caches) {
  auto place = Place{2};
  ss::write_cache& cache = place.get();
  cache.put("s", "1", going_to(1), {}, layout);
  cache.put("s", "2", going_to(1), {}, layout);
  cache.put("s", "1", going_to(1), {}, layout); // a second put makes it the newest entry
  cache.put("s", "3", going_to(1), {}, layout);
  BOOST_TEST(cache.find("s", "1", layout).has_value());
  BOOST_TEST(!cache.find("s", "2", layout));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(clear_with_empty_scope_deletes_all_scopes, Place, caches) {
  auto place = Place{};
  ss::write_cache& cache = place.get();
  cache.put("a", "1", going_to(1), {}, layout);
  cache.put("b", "1", going_to(1), {}, layout);
  cache.clear("a");
  BOOST_TEST(!cache.find("a", "1", layout));
  BOOST_TEST(cache.find("b", "1", layout).has_value());
  cache.clear("");
  BOOST_TEST(!cache.find("b", "1", layout));
}

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
