// SPDX-License-Identifier: Apache-2.0
// The long-term stores in memory and in a file: items, search, filters, expiry and vectors.
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/store_contract.hpp"
#include "checkpoint/version_1.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/checkpoint/store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <sqlite3.h>

namespace ss = superstep;
namespace json = boost::json;

BOOST_AUTO_TEST_SUITE(store)

using namespace store_contract;

namespace {

struct stored_in_memory {
  ss::memory_store held{ss::memory_store_options{}};
  ss::store& get() { return held; }
};
struct stored_in_file {
  temporary_folder folder;
  ss::sqlite_store held{folder.file(), {.busy_timeout = {}, .survives_power_loss = false}};
  ss::store& get() { return held; }
};
using stores = std::tuple<stored_in_memory, stored_in_file>;

// Stores with an embedding or with items that expire.
struct set_up_in_memory {
  explicit set_up_in_memory(ss::memory_store_options o) : held{std::move(o)} {}
  ss::memory_store held;
};
struct set_up_in_file {
  explicit set_up_in_file(const ss::memory_store_options& o) : held{folder.file(), of(o)} {}
  static ss::sqlite_store_options of(const ss::memory_store_options& o) {
    auto out = ss::sqlite_store_options{};
    out.survives_power_loss = false;
    out.embed = o.embed;
    out.fields = o.fields;
    out.ttl = o.ttl;
    out.renew_on_read = o.renew_on_read;
    out.time = o.time;
    return out;
  }
  temporary_folder folder;
  ss::sqlite_store held;
};
using set_up_stores = std::tuple<set_up_in_memory, set_up_in_file>;

} // namespace

#include "checkpoint/store_cases.hpp"

// The clock lets another store put an item between two steps of a read.
BOOST_AUTO_TEST_CASE(read_keeps_the_lifetime_of_an_item_that_was_replaced_meanwhile) {
  struct busy_clock final : ss::clock {
    std::chrono::system_clock::time_point at{std::chrono::seconds{1'000}};
    std::function<void()> meanwhile;
    mutable int calls = 0;
    [[nodiscard]] std::chrono::system_clock::time_point now() const override {
      if (++calls == 2 && meanwhile)
        meanwhile();
      return at;
    }
  };
  const auto folder = temporary_folder{};
  auto time = busy_clock{};
  auto options = ss::sqlite_store_options{};
  options.time = &time;
  options.ttl = std::chrono::milliseconds{100};
  auto reader = ss::sqlite_store{folder.file(), options};
  auto writer = ss::sqlite_store{folder.file()};
  reader.put({"a"}, "k", {});
  time.at += std::chrono::milliseconds{60};
  time.calls = 0; // the second time is that of the renewal
  time.meanwhile = [&] { writer.put({"a"}, "k", {{"new", true}}, for_ever()); };
  BOOST_TEST(reader.get({"a"}, "k").has_value());
  time.meanwhile = nullptr;
  time.at += std::chrono::milliseconds{1'000};
  const auto kept = reader.get({"a"}, "k");
  BOOST_TEST_REQUIRE(kept.has_value());
  BOOST_TEST(kept->contains("new"));
}

BOOST_AUTO_TEST_CASE(item_is_returned_while_its_lifetime_cannot_be_renewed) {
  const auto folder = temporary_folder{};
  auto time = set_clock{};
  auto options = ss::sqlite_store_options{};
  options.time = &time;
  options.ttl = std::chrono::milliseconds{100};
  auto s = ss::sqlite_store{folder.file(), options};
  s.put({"a"}, "k", {});
  time.at += std::chrono::milliseconds{60};
  auto* db = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(folder.file().c_str(), &db) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  BOOST_TEST(s.get({"a"}, "k").has_value()); // does not wait for the other connection
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "k");
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  const auto* fails =
      "CREATE TRIGGER full BEFORE UPDATE ON items BEGIN SELECT RAISE(ABORT, ''); END";
  BOOST_REQUIRE(sqlite3_exec(db, fails, nullptr, nullptr, nullptr) == SQLITE_OK);
  BOOST_TEST(s.get({"a"}, "k").has_value());
  BOOST_REQUIRE(sqlite3_exec(db, "DROP TRIGGER full", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
  BOOST_TEST(s.get({"a"}, "k").has_value()); // restarts the lifetime
  time.at += std::chrono::milliseconds{60};
  BOOST_TEST(s.get({"a"}, "k").has_value());
}

BOOST_AUTO_TEST_CASE(damaged_item_error_names_item_and_file) {
  const auto folder = temporary_folder{};
  auto s = ss::sqlite_store{folder.file()};
  s.put({"a"}, "bad", {});
  static_cast<void>(ask_sql(folder.file(), "UPDATE items SET value = '{no'"));
  const auto is_named = [&](const ss::checkpoint_error& e) {
    const auto text = std::string{e.what()};
    return text.find("'bad' in [\"a\"]") != text.npos && text.find(folder.file()) != text.npos;
  };
  BOOST_CHECK_EXCEPTION((void)s.get({"a"}, "bad"), ss::checkpoint_error, is_named);
  BOOST_CHECK_EXCEPTION((void)s.search({}), ss::checkpoint_error, is_named);
}

BOOST_AUTO_TEST_CASE(comparison_with_text_throws_only_in_memory_store) {
  auto memory = stored_in_memory{};
  auto file = stored_in_file{};
  for (auto* s : {&memory.get(), &file.get()}) {
    s->put({"n"}, "a", {{"n", 1}});
    s->put({"n"}, "b", {{"n", 2}});
    BOOST_TEST(keys(*s, where(R"({"n":{"$gt":1}})")) == "b");
    s->put({"n"}, "c", {{"n", "x"}});
    s->put({"n"}, "d", {});
  }
  BOOST_TEST(keys(file.get(), where(R"({"n":{"$gt":1}})")) == "b");
  BOOST_CHECK_THROW((void)memory.get().search(where(R"({"n":{"$gt":1}})")), ss::store_filter_error);
}

BOOST_AUTO_TEST_CASE(file_store_compares_texts_as_texts) {
  auto place = stored_in_file{};
  auto& s = place.get();
  s.put({"n"}, "a", {{"at", "2024-05-01"}});
  s.put({"n"}, "b", {{"at", "2025-05-01"}});
  s.put({"n"}, "c", {{"at", "9"}});
  s.put({"n"}, "d", {{"at", 2'026}});
  s.put({"n"}, "e", {});
  BOOST_TEST(keys(s, where(R"({"at":{"$gte":"2025-01-01"}})")) == "bc");
  BOOST_TEST(keys(s, where(R"({"at":{"$gt":"2024-05-01","$lt":"9"}})")) == "b");
  BOOST_TEST(keys(s, where(R"({"at":{"$lte":"2024-05-01"}})")) == "a");
  BOOST_TEST(keys(s, where(R"({"at":{"$lt":"10"}})")) == "");
  BOOST_TEST(keys(s, where(R"({"at":{"$gt":10}})")) == "d");
}

BOOST_AUTO_TEST_CASE(filter_comparison_with_nan_matches_nothing) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  auto memory = stored_in_memory{};
  auto file = stored_in_file{};
  for (auto* s : {&memory.get(), &file.get()}) {
    s->put({"n"}, "a", {{"n", 1}});
    s->put({"t"}, "b", {{"n", "nan"}}); // read as a number, like other texts in memory
    for (const auto* op : {"$gt", "$gte", "$lt", "$lte"}) {
      BOOST_TEST(keys(*s, {{"n"}, {{"n", {{op, nan}}}}, 10, 0}).empty());
      BOOST_TEST(keys(*s, {{"t"}, {{"n", {{op, 1}}}}, 10, 0}).empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(file_store_orders_results_by_namespace_and_key) {
  auto place = stored_in_file{};
  put_unordered(place.get());
  BOOST_TEST(keys(place.get(), {{}, {}, 10, 0}) == "1234");
}

BOOST_AUTO_TEST_CASE(memory_store_orders_results_by_first_put) {
  auto place = stored_in_memory{};
  put_unordered(place.get());
  BOOST_TEST(keys(place.get(), {{}, {}, 10, 0}) == "4321");
}

BOOST_AUTO_TEST_CASE(expiry_times_and_vectors_survive_reopening_the_store) {
  const auto folder = temporary_folder{};
  auto time = set_clock{};
  auto options = ss::sqlite_store_options{};
  options.embed = count_letters;
  options.time = &time;
  options.ttl = std::chrono::milliseconds{100};
  const auto query = meaning("a");
  {
    auto first = ss::sqlite_store{folder.file(), options};
    first.put({"n"}, "1", {{"t", "b"}});
    first.put({"n"}, "2", {{"t", "a"}});
    BOOST_TEST(keys(first, query) == "21");
  }
  auto second = ss::sqlite_store{folder.file(), options};
  time.at += std::chrono::milliseconds{99};
  BOOST_TEST(second.search(query).at(0).key == "2");
  options.embed = [](std::span<const std::string> texts) {
    return std::vector<std::vector<float>>(texts.size(), {1, 2, 3});
  };
  auto other = ss::sqlite_store{folder.file(), options};
  BOOST_CHECK_EXCEPTION((void)other.search(query), std::invalid_argument, [](const auto& e) {
    return std::string_view{e.what()}.find("vectors of 3 numbers") != std::string_view::npos;
  });
  time.at += std::chrono::milliseconds{199};
  BOOST_TEST(second.search(query).empty());
  BOOST_TEST(second.list().empty());
  BOOST_TEST(second.sweep() == 2U);
}

BOOST_AUTO_TEST_CASE(file_store_items_are_shared_and_survive_reopening) {
  const auto folder = temporary_folder{};
  auto first = std::make_unique<ss::sqlite_store>(folder.file());
  auto other = ss::sqlite_store{folder.file()};
  first->put({"a", "b"}, "k", {{"v", "ä"}});
  BOOST_TEST(other.get({"a", "b"}, "k")->at("v").as_string() == "ä");
  first.reset();
  BOOST_TEST((ss::sqlite_store{folder.file()}.search({{}, {}, 1, 0}).at(0).ns ==
              ss::store_namespace{"a", "b"}));
}

BOOST_AUTO_TEST_SUITE_END()
