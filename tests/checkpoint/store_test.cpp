// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/sqlite_places.hpp"

#include <superstep/checkpoint/sqlite_store.hpp>
#include <superstep/checkpoint/store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace ss = superstep;
namespace json = boost::json;

namespace {

std::string keys(ss::store& s, ss::store_query query) {
  auto out = std::string{};
  for (const auto& item : s.search(query))
    out += item.key;
  return out;
}

ss::store_query where(const char* filter) {
  return {{}, json::parse(filter).as_object(), 10, 0};
}

void put_unordered(ss::store& s) {
  s.put({"a-b"}, "4", {});
  s.put({"a", "b"}, "3", {});
  s.put({"a"}, "2", {});
  s.put({"a"}, "1", {});
  s.put({"a"}, "2", {{"again", true}});
}

struct set_clock final : ss::clock {
  std::chrono::system_clock::time_point at{};
  [[nodiscard]] std::chrono::system_clock::time_point now() const override { return at; }
};

// The contract of superstep::store, for every store there is.
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

} // namespace

BOOST_AUTO_TEST_SUITE(store)

BOOST_AUTO_TEST_CASE_TEMPLATE(what_was_put_is_there_until_it_is_erased, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"users", "u1"}, "name", {{"v", "Ann"}});
  BOOST_TEST(s.get({"users", "u1"}, "name")->at("v").as_string() == "Ann");
  BOOST_TEST(!s.get({"users"}, "name"));
  s.erase({"users", "u1"}, "name");
  s.erase({"users", "u1"}, "name");
  BOOST_TEST(!s.get({"users", "u1"}, "name"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_finds_by_whole_labels, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"a"}, "1", {});
  s.put({"a", "b"}, "2", {});
  s.put({"ab"}, "3", {});
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "12");
  BOOST_TEST(keys(s, {{}, {}, 2, 1}) == "23");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_filter_compares_field_by_field, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"n"}, "a", {{"n", 1}, {"t", "x"}});
  s.put({"n"}, "b", {{"n", 2}, {"in", {{"k", 1}, {"l", 2}}}});
  s.put({"n"}, "c", {{"n", "2"}, {"list", {1, 2}}});
  BOOST_TEST(keys(s, where(R"({"n":1,"t":"x"})")) == "a");
  BOOST_TEST(keys(s, where(R"({"n":{"$gte":1,"$lt":2}})")) == "a");
  BOOST_TEST(keys(s, where(R"({"n":{"$ne":1}})")) == "bc");
  BOOST_TEST(keys(s, where(R"({"in":{"k":1}})")) == "b");
  BOOST_TEST(keys(s, where(R"({"list":[1,2]})")) == "c");
  BOOST_TEST(keys(s, where(R"({"zz":null})")) == "abc");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bad_namespaces_and_operators_are_refused, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  BOOST_CHECK_THROW(s.put({}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({"a.b"}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({""}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({"langgraph", "a"}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW((void)s.get({"a.b"}, "k"), std::invalid_argument);
  s.put({"a"}, "k", {{"n", 1}});
  BOOST_CHECK_THROW((void)s.search(where(R"({"n":{"$near":1}})")), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(namespaces_are_listed_by_their_ends, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  for (const auto& ns :
       {ss::store_namespace{"q", "b", "d"}, {"a", "x", "c"}, {"a", "b", "c"}, {"a", "b"}})
    s.put(ns, "k", {});
  using list = std::vector<ss::store_namespace>;
  BOOST_TEST((s.list() == list{{"a", "b"}, {"a", "b", "c"}, {"a", "x", "c"}, {"q", "b", "d"}}));
  BOOST_TEST((s.list({{"a", "*", "c"}, {}, 0, 10, 0}) == list{{"a", "b", "c"}, {"a", "x", "c"}}));
  BOOST_TEST((s.list({{}, {"b", "*"}, 0, 10, 0}) == list{{"a", "b", "c"}, {"q", "b", "d"}}));
  BOOST_TEST((s.list({{"a"}, {}, 2, 10, 0}) == list{{"a", "b"}, {"a", "x"}}));
  BOOST_TEST((s.list({{}, {}, 1, 1, 1}) == list{{"q"}}));
}

BOOST_AUTO_TEST_CASE(an_ordered_filter_refuses_or_leaves_out_what_is_no_number) {
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

BOOST_AUTO_TEST_CASE(a_search_in_a_file_goes_by_namespaces_then_keys) {
  auto place = stored_in_file{};
  put_unordered(place.get());
  BOOST_TEST(keys(place.get(), {{}, {}, 10, 0}) == "1234");
}

BOOST_AUTO_TEST_CASE(a_search_in_memory_goes_by_first_use) {
  auto place = stored_in_memory{};
  put_unordered(place.get());
  BOOST_TEST(keys(place.get(), {{}, {}, 10, 0}) == "4321");
}

BOOST_AUTO_TEST_CASE(a_store_that_cannot_let_items_expire_says_so) {
  auto place = stored_in_file{};
  auto options = ss::store_put_options{};
  options.ttl = std::chrono::milliseconds{1};
  BOOST_CHECK_THROW(place.get().put({"a"}, "k", {}, options), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(items_expire_and_reading_renews_them) {
  auto time = set_clock{};
  auto options = ss::memory_store_options{};
  options.time = &time;
  options.ttl = std::chrono::milliseconds{100};
  auto s = ss::memory_store{options};
  auto longer = ss::store_put_options{};
  longer.ttl = std::chrono::milliseconds{0};
  s.put({"a"}, "short", {});
  s.put({"a"}, "ever", {}, longer);
  time.at += std::chrono::milliseconds{60};
  BOOST_TEST(s.get({"a"}, "short").has_value()); // begins its time anew
  time.at += std::chrono::milliseconds{99};
  BOOST_TEST(s.search({{"a"}, {}, 10, 0}).size() == 2U);
  time.at += std::chrono::milliseconds{100};
  BOOST_TEST(!s.get({"a"}, "short"));
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "ever");
  BOOST_TEST(s.sweep() == 1U);
  BOOST_TEST(s.sweep() == 0U);
  s.put({"a"}, "short", {});
  BOOST_TEST(s.get({"a"}, "short").has_value());
}

BOOST_AUTO_TEST_CASE(a_search_by_meaning_finds_the_nearest_text_of_each_item) {
  auto options = ss::memory_store_options{};
  options.embed = [](std::span<const std::string> texts) {
    auto out = std::vector<std::vector<float>>{};
    for (const auto& text : texts)
      out.push_back({static_cast<float>(std::ranges::count(text, 'a')),
                     static_cast<float>(std::ranges::count(text, 'b'))});
    return out;
  };
  options.fields = {"title", "parts[*].text", "list[-1]", "{x,y}"};
  auto s = ss::memory_store{options};
  const auto put = [&s](const char* key, const char* value) {
    s.put({"m"}, key, json::parse(value).as_object());
  };
  put("1", R"({"title":"b"})");
  put("2", R"({"title":"b","parts":[{"text":"b"},{"text":"ab"}]})");
  put("3", R"({"list":["b","a"]})");
  put("4", R"({"other":"a"})");
  put("5", R"({"y":"a","x":null})");
  auto none = ss::store_put_options{};
  none.index.emplace();
  s.put({"m"}, "6", {{"title", "a"}}, none);
  auto query = ss::store_query{};
  query.text = "a";
  BOOST_TEST(keys(s, query) == "352146"); // without an index last
  const auto found = s.search(query);
  BOOST_TEST(found.at(0).score.value() == 1.0);
  BOOST_TEST(found.at(3).score.value() == 0.0);
  BOOST_TEST(!found.at(4).score.has_value());
  query.limit = 2;
  query.offset = 1;
  BOOST_TEST(keys(s, query) == "52");
}

BOOST_AUTO_TEST_CASE(a_store_in_a_file_is_there_for_others_and_later) {
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
