// SPDX-License-Identifier: Apache-2.0
// The contracts of stores and caches on a PostgreSQL server.
#include "checkpoint/cache_contract.hpp"
#include "checkpoint/store_contract.hpp"
#include "system/postgres/postgres_place.hpp"

#include <csignal>
#include <tuple>

namespace {

namespace json = boost::json;
namespace ss = superstep;
using namespace ss::testing;
using namespace std::chrono_literals;
using namespace store_contract;

/// Returns the URL of an empty database.
std::string empty_database() {
  clear_database();
  return shared_server().url();
}

ss::postgres_store_options of(const ss::memory_store_options& o) {
  auto out = ss::postgres_store_options{};
  out.embed = o.embed;
  out.fields = o.fields;
  out.ttl = o.ttl;
  out.renew_on_read = o.renew_on_read;
  out.time = o.time;
  return out;
}

struct stored_in_database {
  ss::postgres_store held{empty_database()};
  ss::store& get() { return held; }
};
struct set_up_in_database {
  explicit set_up_in_database(const ss::memory_store_options& o) : held{empty_database(), of(o)} {}
  ss::postgres_store held;
};
using stores = std::tuple<stored_in_database>;
using set_up_stores = std::tuple<set_up_in_database>;

class cached_in_database {
public:
  explicit cached_in_database(std::size_t max = 10) : held_{empty_database(), with(max, time_)} {}
  ss::postgres_cache& get() { return held_; }
  void advance(std::chrono::milliseconds by) { time_.at += by; }

private:
  static ss::postgres_cache_options with(std::size_t max, const ss::clock& time) {
    auto out = ss::postgres_cache_options{};
    out.entries_max = max;
    out.time = &time;
    return out;
  }
  set_clock time_;
  ss::postgres_cache held_;
};
using caches = std::tuple<cached_in_database>;

} // namespace

BOOST_AUTO_TEST_SUITE(postgres_store)

#include "checkpoint/store_cases.hpp"

BOOST_AUTO_TEST_CASE(items_are_shared_encrypted_and_survive_a_crash) {
  auto options = ss::postgres_store_options{};
  options.encryption_key = std::string(32, 'k');
  const auto url = empty_database();
  auto one = ss::postgres_store{url, options};
  auto two = ss::postgres_store{url, options};
  one.put({"a", "b"}, "key", {{"text", "confidential"}});
  BOOST_TEST(two.get({"a", "b"}, "key")->at("text") == "confidential");
  BOOST_TEST(shared_server().value("select count(*) from superstep_threads.items where "
                                   "position('confidential' in encode(value, 'escape')) > 0") ==
             "0");
  shared_server().crash(SIGQUIT);
  shared_server().start();
  BOOST_TEST(two.get({"a", "b"}, "key")->at("text") == "confidential"); // connects again
  two.erase({"a", "b"}, "key");
  BOOST_TEST(!one.get({"a", "b"}, "key"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(postgres_cache)

using namespace cache_contract;

#include "checkpoint/cache_cases.hpp"

BOOST_AUTO_TEST_CASE(cache_without_server_only_reports_the_failure) {
  auto server = postgres_server{};
  auto options = ss::postgres_cache_options{};
  options.reconnect_timeout = 100ms;
  auto cache = ss::postgres_cache{server.url(), options};
  cache.put("g/a", "1", going_to(1), {}, layout);
  BOOST_TEST(cache.find("g/a", "1", layout).has_value());
  server.crash(SIGQUIT);
  cache.put("g/a", "2", going_to(1), {}, layout);
  BOOST_TEST(!cache.find("g/a", "2", layout));
  BOOST_TEST(cache.last_failure().find("cannot be reached") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
