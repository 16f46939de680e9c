// SPDX-License-Identifier: Apache-2.0
// The recorded cases in cases/ are answered as recorded. Those of protocols that are not there yet
// are passed over; how many are answered may only grow.
#include "conformance/cases.hpp"
#include "conformance/protocol_stream_cases.hpp"

#include <superstep/models/protocols/make_protocol.hpp>
#include <superstep/models/protocols/relaxed_json.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

namespace {

using namespace superstep;

constexpr auto agreeing_min = std::size_t{1475};

std::vector<json::object> recorded(std::string_view part_of_name) {
  auto out = std::vector<json::object>{};
  for (const auto& entry : std::filesystem::directory_iterator{SUPERSTEP_GOLDEN_CASES}) {
    if (entry.path().filename().string().find(part_of_name) == std::string::npos)
      continue;
    auto in = std::ifstream{entry.path()};
    for (auto line = std::string{}; std::getline(in, line);)
      out.push_back(parse_lenient_json(line).value().as_object());
  }
  return out;
}

/// Equality as JavaScript has it: all numbers are doubles; the order of members is no part of it.
/// Prose of our own is recorded as "*".
bool same(const json::value& a, const json::value& b) {
  if (a.is_string() && a.get_string() == "*")
    return b.is_string();
  if (a.is_number() && b.is_number()) {
    const auto x = a.to_number<double>();
    const auto y = b.to_number<double>();
    return x == y || (x != x && y != y);
  }
  if (a.is_array() && b.is_array())
    return std::ranges::equal(a.get_array(), b.get_array(), same);
  if (!a.is_object() || !b.is_object())
    return a == b;
  return a.get_object().size() == b.get_object().size() &&
         std::ranges::all_of(a.get_object(), [&](const auto& member) {
           const auto* other = b.get_object().if_contains(member.key());
           return other != nullptr && same(member.value(), *other);
         });
}

/// An error is an error, whatever its words.
bool agrees(const json::value& want, const json::value& got) {
  const auto is_error = want == json::value{{"error", true}};
  return is_error ? got.is_object() && got.get_object().contains("error") : same(want, got);
}

bool has_protocol(const json::object& input) {
  const auto* name = input.if_contains("protocol");
  return name == nullptr || make_protocol(name->as_string()).has_value();
}

/// What a text streams to, in pieces of random length.
std::pair<json::value, std::string> streamed(json::object input, const std::string& text,
                                             std::minstd_rand& luck, std::size_t longest) {
  auto chunks = json::array{};
  for (auto begin = std::size_t{0}; begin < text.size();) {
    const auto n = std::min(text.size() - begin, 1 + luck() % longest);
    chunks.emplace_back(text.substr(begin, n));
    begin += n;
  }
  input["chunks"] = std::move(chunks);
  return {conformance::stream_case(input), to_text(conformance::deltas_case(input))};
}

} // namespace

BOOST_AUTO_TEST_CASE(recorded_cases_are_answered_as_recorded) {
  auto table = conformance::case_table{};
  conformance::add_protocol_cases(table);
  auto agreeing = std::size_t{0};
  for (const auto& c : recorded("jsonl")) {
    const auto& input = c.at("input").as_object();
    const auto found = table.find(std::string_view{c.at("kind").as_string()});
    if (found == table.end() || !has_protocol(input))
      continue;
    const auto got = found->second(input);
    const auto is_right = agrees(c.at("output"), got);
    BOOST_TEST(is_right, c.at("id") << "\n  want " << c.at("output") << "\n  got  " << got);
    agreeing += is_right ? 1 : 0;
  }
  BOOST_TEST_MESSAGE(agreeing << " cases agree");
  BOOST_TEST(agreeing >= agreeing_min);
}

BOOST_AUTO_TEST_CASE(a_stream_gives_the_same_however_its_text_is_cut) {
  auto luck = std::minstd_rand{11};
  for (const auto& c : recorded("hermes.parse")) {
    const auto& input = c.at("input").as_object();
    const auto text = std::string{input.at("text").as_string()};
    const auto whole = streamed(input, text, luck, 1'000'000);
    for (auto i = 0; i < 40; ++i) {
      const auto pieces = streamed(input, text, luck, i < 2 ? 1 : 9);
      BOOST_TEST_REQUIRE((pieces.first == whole.first), c.at("id"));
      BOOST_TEST_REQUIRE(pieces.second == whole.second, c.at("id"));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_deltas_of_a_call_join_to_its_arguments) {
  auto luck = std::minstd_rand{12};
  auto calls = 0;
  for (const auto& c : recorded("hermes.parse")) {
    const auto& input = c.at("input").as_object();
    const auto text = std::string{input.at("text").as_string()};
    auto joined = std::map<std::string, std::string>{};
    const auto events = json::parse(streamed(input, text, luck, 5).second);
    for (const auto& e : events.at("seq").as_array()) {
      if (e.at(0) == "delta")
        joined[std::string{e.at(1).as_string()}] += e.at(2).as_string();
      if (e.at(0) != "call")
        continue;
      ++calls;
      BOOST_TEST(joined[std::string{e.at(1).as_string()}] == e.at(3).as_string(), c.at("id"));
    }
  }
  BOOST_TEST(calls > 50);
}
