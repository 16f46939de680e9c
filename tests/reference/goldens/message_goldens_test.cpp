// SPDX-License-Identifier: Apache-2.0
// Runs the recorded cases of messages and provider formats and compares the answers.
#include "goldens/message_form.hpp"
#include "protocols/relaxed_json.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace message_goldens_test {

namespace {

using namespace superstep;

constexpr auto agreeing_min = std::size_t{639};

std::vector<json::object> recorded() {
  auto out = std::vector<json::object>{};
  for (const auto& entry : std::filesystem::directory_iterator{SUPERSTEP_GOLDEN_CASES}) {
    if (!entry.path().filename().string().starts_with("message."))
      continue;
    auto in = std::ifstream{entry.path()};
    for (auto line = std::string{}; std::getline(in, line);)
      out.push_back(parse_lenient_json(line).value().as_object());
  }
  return out;
}

bool same(const json::value& want, const json::value& got);

/// Free-form text is recorded as "*", a generated id as its prefix and "_*".
bool same_text(std::string_view want, std::string_view got) {
  if (want.ends_with("_*"))
    return got.starts_with(want.substr(0, want.size() - 1));
  return want == "*" || want == got;
}

/// Argument texts are compared as JSON values.
bool same_member(std::string_view key, const json::value& want, const json::value& got) {
  if (key == "arguments" && want.is_string() && got.is_string()) {
    const auto a = parse_json(want.get_string());
    const auto b = parse_json(got.get_string());
    if (a && b)
      return same(*a, *b);
  }
  return same(want, got);
}

bool same(const json::value& want, const json::value& got) {
  if (want.is_string() && got.is_string())
    return same_text(std::string_view{want.get_string()}, std::string_view{got.get_string()});
  if (want.is_number() && got.is_number())
    return want.to_number<double>() == got.to_number<double>();
  if (want.is_array() && got.is_array())
    return std::ranges::equal(want.get_array(), got.get_array(), same);
  if (!want.is_object() || !got.is_object())
    return want == got;
  return want.get_object().size() == got.get_object().size() &&
         std::ranges::all_of(want.get_object(), [&](const auto& member) {
           const auto* other = got.get_object().if_contains(member.key());
           return other && same_member(member.key(), member.value(), *other);
         });
}

json::value answer(const conformance::case_table& table, const json::object& recorded_case) {
  const auto found = table.find(std::string_view{recorded_case.at("kind").as_string()});
  BOOST_REQUIRE(found != table.end());
  try {
    return found->second(recorded_case.at("input").as_object());
  } catch (const std::exception& e) { // two errors agree whatever their texts
    return {{"error", e.what()}};
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(message_conversions_reproduce_recorded_outputs) {
  auto table = conformance::case_table{};
  conformance::add_message_cases(table);
  conformance::add_message_list_cases(table);
  conformance::add_message_provider_cases(table);
  auto agreeing = std::size_t{0};
  for (const auto& c : recorded()) {
    const auto& want = c.at("output").as_object();
    const auto got = answer(table, c);
    const auto is_right =
        want.contains("error") ? got.as_object().contains("error") : same(want, got);
    BOOST_TEST(is_right, c.at("id") << "\n  want " << want << "\n  got  " << got);
    agreeing += is_right ? 1 : 0;
  }
  BOOST_TEST_MESSAGE(agreeing << " cases agree");
  BOOST_TEST(agreeing >= agreeing_min);
}

} // namespace message_goldens_test
