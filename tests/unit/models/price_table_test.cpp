// SPDX-License-Identifier: Apache-2.0
// The prices of models, and the cost of calls.
#include <superstep/base/json.hpp>
#include <superstep/models/detail/price_table.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(prices)

namespace {

using namespace superstep;

token_usage used(std::int64_t input, std::int64_t output, json::object details = {}) {
  auto out = token_usage{};
  out.input_tokens = input;
  out.output_tokens = output;
  out.total_tokens = input + output;
  out.input_details = std::move(details);
  return out;
}

result<price_table> table_of(const std::string& text) {
  return price_table::from_json(parse_json(text).value(), "prices.json");
}

struct name_case {
  const char* asked;
  const char* found; ///< name in the table; null: none
};
std::ostream& operator<<(std::ostream& out, const name_case& c) {
  return out << c.asked;
}

} // namespace

BOOST_AUTO_TEST_CASE(built_in_table_has_a_date_and_prices) {
  const auto& table = price_table::built_in();
  BOOST_TEST(table.date().size() == 10U);
  for (const auto* model : {"gpt-4o-mini", "gpt-5", "claude-sonnet-4-5"}) {
    const auto* price = table.find(model);
    BOOST_TEST_REQUIRE(price != nullptr, model);
    BOOST_TEST(price->input > 0);
    BOOST_TEST(price->output > price->input);
    BOOST_TEST(price->cached_input.value() < price->input);
  }
}

const auto names = std::vector<name_case>{
    {"gpt-4o", "gpt-4o"},
    {"gpt-4o-2024-08-06", "gpt-4o"},
    {"openai:gpt-4o", "gpt-4o"},
    {"openai/gpt-4o-2024-08-06", "gpt-4o"},
    {"claude-sonnet-4-20250514", "claude-sonnet-4"},
    {"gpt-4o-audio", nullptr},
    {"gpt-4", nullptr},
    {"", nullptr},
};
BOOST_DATA_TEST_CASE(names_match_without_date_and_provider, boost::unit_test::data::make(names),
                     c) {
  const auto* found = price_table::built_in().find(c.asked);
  const auto* wanted = c.found != nullptr ? price_table::built_in().find(c.found) : nullptr;
  BOOST_TEST(found == wanted);
  BOOST_TEST((c.found == nullptr) == (found == nullptr));
}

BOOST_AUTO_TEST_CASE(cost_counts_cached_tokens_at_their_price) {
  const auto price = model_price{.input = 2, .output = 10, .cached_input = 0.5, .cache_write = 3};
  BOOST_TEST(cost_of(used(1'000'000, 0), price) == 2'000'000'000);
  BOOST_TEST(cost_of(used(0, 1), price) == 10'000);
  BOOST_TEST(cost_of(used(100, 0, {{"cache_read", 40}}), price) == 60 * 2'000 + 40 * 500);
  BOOST_TEST(cost_of(used(100, 0, {{"priority_cache_read", 40}}), price) == 60 * 2'000 + 40 * 500);
  BOOST_TEST(cost_of(used(100, 0, {{"cache_read", 40}, {"ephemeral_5m_input_tokens", 10}}),
                     price) == 50 * 2'000 + 40 * 500 + 10 * 3'000);
  // More cached tokens than tokens: a server's mistake must not give a negative cost.
  BOOST_TEST(cost_of(used(10, 0, {{"cache_read", 40}}), price) == 10 * 500);
  BOOST_TEST(cost_of(used(10, 0, {{"cache_read", 5}}), model_price{.input = 2, .output = 1}) ==
             20'000);
}

BOOST_AUTO_TEST_CASE(added_prices_replace_earlier_ones) {
  auto table =
      table_of(R"({"a": {"input": 1, "output": 2}, "b": {"input": 3, "output": 4}})").value();
  table.add(
      table_of(R"({"date": "2026-01-31", "models": {"a": {"input": 5, "output": 6}}})").value());
  BOOST_TEST(table.find("a")->input == 5);
  BOOST_TEST(table.find("b")->input == 3);
  BOOST_TEST(table.find("c") == nullptr);
  table.add(table_of(R"({"*": {"input": 0, "output": 0}})").value());
  BOOST_TEST(table.find("c")->output == 0);
}

BOOST_AUTO_TEST_CASE(invalid_prices_are_rejected_with_their_name) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {R"([])", "prices"},
           {R"({"a": 1})", "a: must be a mapping"},
           {R"({"a": {"input": 1}})", "a.output: is missing"},
           {R"({"a": {"input": -1, "output": 1}})", "a.input: must be a number"},
           {R"({"a": {"input": "1", "output": 1}})", "a.input: must be a number"},
           {R"({"a": {"input": 1, "output": 1, "cached": 1}})", "a.cached: is not a price"},
           {R"({"models": {}, "currency": "EUR"})", "currency: is unknown"},
           {R"({"models": {}, "date": 5})", "date: must be a text"}}) {
    const auto read = table_of(text);
    BOOST_TEST_REQUIRE(read.has_error(), text);
    BOOST_TEST(read.error().text.find(part) != std::string::npos, read.error().text);
    BOOST_TEST(read.error().text.starts_with("prices.json: "), read.error().text);
  }
  BOOST_TEST(price_table::read("/nowhere/prices.json").has_error());
}

BOOST_AUTO_TEST_SUITE_END()
