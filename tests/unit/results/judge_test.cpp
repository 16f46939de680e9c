// SPDX-License-Identifier: Apache-2.0
// A model as judge: the rows that it reads, and its scores. Members of a response as answers.
#include "results/judge.hpp"
#include "results/report.hpp"
#include "unit/results/output_file.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace superstep::results {

using testing::failed_line;
using testing::ok_line;
using testing::output_files;

namespace {

/// Returns a line with an expected answer in its columns.
std::string with_gold(std::string line, const std::string& gold) {
  line.insert(line.size() - 2, R"(,"columns":{"label":")" + gold + R"(","city":"Rome"})");
  return line;
}

std::vector<json::object> objects_in(const std::string& path) {
  auto out = std::vector<json::object>{};
  auto in = std::ifstream{path};
  for (auto line = std::string{}; std::getline(in, line);)
    out.push_back(parse_json(line).value().as_object());
  return out;
}

std::string text_at(const json::object& from, const std::string& name) {
  return std::string{from.at(name).as_string()};
}

/// An output with three rows that have an expected answer, of which one failed, and one without.
struct judged_output : output_files {
  judged_output() {
    options.output =
        write("out.jsonl", with_gold(ok_line("a", "one"), "1") + with_gold(ok_line("b", "2"), "2") +
                               with_gold(failed_line("c", "model_error"), "3") + ok_line("d", "4"));
    options.field = "label";
    rows = write_judge_rows(options, path).value();
  }
  /// Writes the output of the judge with an answer for each of its rows.
  [[nodiscard]] std::string judged(const std::vector<std::string>& answers) const {
    auto text = std::string{};
    const auto lines = objects_in(path);
    for (auto i = std::size_t{0}; i < answers.size(); ++i)
      text += ok_line(text_at(lines.at(i), "id"), answers[i]);
    return write("judged.jsonl", text);
  }

  std::string path =
      write("judge.jsonl", R"({"question":"","answer":"","gold":1,"columns":{},"id":"old"})"
                           "\n");
  score_options options;
  std::uint64_t rows = 0;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(judges, judged_output)

BOOST_AUTO_TEST_CASE(judge_reads_rows_with_answer_and_expected_answer) {
  const auto lines = objects_in(path);
  BOOST_TEST(rows == 2U);
  BOOST_TEST_REQUIRE(lines.size() == 2U);
  BOOST_TEST(text_at(lines[0], "id").starts_with("a@"));
  BOOST_TEST(text_at(lines[0], "question") == "q");
  BOOST_TEST(text_at(lines[0], "answer") == "one");
  BOOST_TEST(text_at(lines[0], "gold") == "1");
  BOOST_TEST(text_at(lines[0].at("columns").as_object(), "city") == "Rome");
  BOOST_TEST(text_at(lines[1], "id").starts_with("b@"));
}

BOOST_AUTO_TEST_CASE(other_files_are_not_replaced_by_rows_of_judge) {
  for (const auto* theirs : {"an earlier file\n", "an earlier file", "{\"id\":\"a\"}\n",
                             "{\"question\":\"\",\"answer\":\"\",\"gold\":\"\",\"id\":\"1\"}\n"}) {
    static_cast<void>(write("judge.jsonl", theirs));
    const auto refused = write_judge_rows(options, path);
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().text.find("judge.jsonl: would be overwritten") != std::string::npos,
               refused.error().text);
    auto in = std::ifstream{path};
    BOOST_TEST((std::string{std::istreambuf_iterator<char>{in}, {}}) == theirs);
  }
  static_cast<void>(write("judge.jsonl", ""));
  BOOST_TEST(write_judge_rows(options, path).has_value());
}

BOOST_AUTO_TEST_CASE(id_of_judged_row_depends_on_its_answer) {
  const auto before = text_at(objects_in(path).at(0), "id");
  BOOST_TEST(write_judge_rows(options, path).value() == 2U);
  BOOST_TEST(text_at(objects_in(path).at(0), "id") == before);
  options.output = write("other.jsonl", with_gold(ok_line("a", "uno"), "1"));
  BOOST_TEST(write_judge_rows(options, path).value() == 1U);
  BOOST_TEST(text_at(objects_in(path).at(0), "id") != before);
}

BOOST_AUTO_TEST_CASE(answers_of_judge_score_their_rows) {
  const auto got = score_judged(options, judged({"Score: 0.5", "1"})).value();
  BOOST_TEST(got.scored == 3U); // the failed row has the score 0
  BOOST_TEST(got.failed == 1U);
  BOOST_TEST(got.without == 1U);
  BOOST_TEST(got.scores.sum() == 1.5);
  BOOST_TEST(report::of_file(options.output).value().scores.sum() == 1.5);
}

BOOST_AUTO_TEST_CASE(row_without_usable_score_of_judge_has_none) {
  for (const auto* answer : {"no idea", "5"}) {
    const auto got = score_judged(options, judged({answer, "1"})).value();
    BOOST_TEST(got.scored == 2U, answer);
    BOOST_TEST(got.without == 2U, answer);
    BOOST_TEST(got.scores.sum() == 1.0, answer);
  }
}

BOOST_AUTO_TEST_CASE(judge_without_any_score_is_an_error) {
  options.output = write("one.jsonl", with_gold(ok_line("a", "one"), "1"));
  static_cast<void>(write_judge_rows(options, path).value());
  const auto got = score_judged(options, judged({"no idea"}));
  BOOST_TEST_REQUIRE(!got.has_value());
  BOOST_TEST(got.error().text.find("no answer of the judge contains a number") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(member_of_response_is_the_answer) {
  auto line = ok_line("a", "text");
  line.replace(line.find(R"("output":{)"), 10,
               R"("output":{"structured_response":{"label":"1","n":{"m":7}},)");
  auto parser = simdjson::dom::parser{};
  auto object = simdjson::dom::object{};
  BOOST_TEST_REQUIRE((parser.parse(line).get(object) == simdjson::SUCCESS));
  BOOST_TEST(compared_text(read_result_line(object)) == R"({"label":"1","n":{"m":7}})");
  BOOST_TEST(compared_text(read_result_line(object, "label")) == "1");
  BOOST_TEST(compared_text(read_result_line(object, "n.m")) == "7");
  BOOST_TEST(compared_text(read_result_line(object, "steps")) == "1"); // a member of the line
  BOOST_TEST(compared_text(read_result_line(object, "response.label")) == "1");
  BOOST_TEST(compared_text(read_result_line(object, "other")) == "");
}

BOOST_AUTO_TEST_CASE(member_of_response_is_found_beside_columns) {
  auto parser = simdjson::dom::parser{};
  const auto answer = [&](std::string_view line, std::string_view field) {
    auto object = simdjson::dom::object{};
    BOOST_TEST_REQUIRE((parser.parse(line.data(), line.size()).get(object) == simdjson::SUCCESS));
    return compared_text(read_result_line(object, field));
  };
  const auto both = std::string{R"({"id":"a","response.label":"1","columns.label":"2"})"};
  BOOST_TEST(answer(both, "label") == "1");
  BOOST_TEST(answer(both, "response.label") == "1");
  BOOST_TEST(answer(both, "columns.label") == "2");
  const auto only_response = std::string{R"({"id":"a","label":"1"})"};
  BOOST_TEST(answer(only_response, "label") == "1");
  BOOST_TEST(answer(only_response, "response.label") == "1");
  // In the line of a batch request, the structured response is the text of the answer.
  const auto request = std::string{
      R"({"custom_id":"a","response":{"body":{"choices":[{"message":{"content":"{\"label\":1}"}}]}}})"};
  BOOST_TEST(answer(request, "response.label") == "1");
  BOOST_TEST(answer(R"({"id":"a","structured_response":{"label":"1"}})", "response.label") == "1");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep::results
