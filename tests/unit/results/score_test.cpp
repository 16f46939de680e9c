// SPDX-License-Identifier: Apache-2.0
// Scores: the methods of comparison, and the file with the scores of a job.
#include "results/answer_field.hpp"
#include "results/gold.hpp"
#include "results/report.hpp"
#include "results/score.hpp"
#include "results/score_table.hpp"
#include "unit/results/output_file.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace superstep::results {

using testing::failed_line;
using testing::ok_line;
using testing::output_files;

namespace {

double score_of(score_method method, const std::string& answer, const std::string& gold) {
  auto row = result_line{};
  row.answer = answer;
  return score_answer(method, row, parse_json(gold).value()).value();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(scores, output_files)

BOOST_AUTO_TEST_CASE(exact_ignores_white_space_at_ends_only) {
  BOOST_TEST(score_of(score_method::exact, " yes\n", R"("yes")") == 1.0);
  BOOST_TEST(score_of(score_method::exact, "Yes", R"("yes")") == 0.0);
  BOOST_TEST(score_of(score_method::exact, "a  b", R"("a b")") == 0.0);
  BOOST_TEST(score_of(score_method::exact, "7", "7") == 1.0); // a number as expected answer
}

BOOST_AUTO_TEST_CASE(number_compares_last_numbers) {
  for (const auto* answer : {"The answer is 1,234.50.", "3 + 4 = 1234.5", "$1234.50", "1.2345e3"})
    BOOST_TEST(score_of(score_method::number, answer, R"("#### 1,234.5")") == 1.0, answer);
  for (const auto* answer : {"none", "1234.5 of 2000", "-1234.5", "1234.51"})
    BOOST_TEST(score_of(score_method::number, answer, "1234.5") == 0.0, answer);
  BOOST_TEST(last_number("from -3 to -.5").value() == -0.5);
  BOOST_TEST(last_number("1,2 and 12,34").value() == 34.0); // not thousands
  BOOST_TEST(last_number("on Jan 1,2024").value() == 2024.0);
  BOOST_TEST(last_number("10,2000").value() == 2000.0);
  BOOST_TEST(last_number("1,234,5678").value() == 5678.0);
  BOOST_TEST(last_number("1,234,567.5kg").value() == 1'234'567.5);
  BOOST_TEST(!last_number("no number").has_value());
  for (const auto* answer : {"3-5", "item A-5", "+5", "2024-05"})
    BOOST_TEST(last_number(answer).value() == 5.0, answer); // a hyphen
  for (const auto* answer : {"-5", "(-5)", "= -5", "\u22125", "3 -5"})
    BOOST_TEST(last_number(answer).value() == -5.0, answer);
  BOOST_TEST(score_of(score_method::number, "1000000001", "1000000002") == 0.0);
  BOOST_TEST(score_of(score_method::number, "4111111111111111", "4111111111111112") == 0.0);
  BOOST_TEST(score_of(score_method::number, "123456789.01", "123456789.02") == 0.0);
  BOOST_TEST(score_of(score_method::number, "0.30000000000000004", "0.3") == 1.0);
  BOOST_TEST(score_of(score_method::number, "1e-13", "2e-13") == 0.0);
  auto row = result_line{};
  BOOST_TEST(score_answer(score_method::number, row, json::value("none")).has_error());
}

BOOST_AUTO_TEST_CASE(last_number_takes_linear_time) {
  auto groups = std::string{"1"};
  auto signs = std::string{};
  constexpr auto count = 50'000;
  for (auto i = 0; i < count; ++i) {
    groups += ",234";
    signs += "\u2212";
  }
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(last_number(groups + "5").value() == 2345.0);
  BOOST_TEST(last_number(groups + "5.5 kg").value() == 2345.5);
  BOOST_TEST(last_number(signs + "5").value() == -5.0);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds{20}));
}

BOOST_AUTO_TEST_CASE(contains_ignores_case_of_letters) {
  BOOST_TEST(score_of(score_method::contains, "It is PARIS.", R"("Paris")") == 1.0);
  BOOST_TEST(score_of(score_method::contains, "It is Rome.", R"("Paris")") == 0.0);
}

BOOST_AUTO_TEST_CASE(regex_is_searched_and_checked) {
  BOOST_TEST(score_of(score_method::regex, "on 2026-11-23", R"("\\d{4}-\\d\\d")") == 1.0);
  BOOST_TEST(score_of(score_method::regex, "x", R"("^y$")") == 0.0);
  auto row = result_line{};
  const auto failed = score_answer(score_method::regex, row, json::value("(a"));
  BOOST_TEST(failed.error().text.find("is not a regular expression") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(json_compares_values_not_texts) {
  const auto* const gold = R"({"a":[1,2.5,null],"b":"x"})";
  BOOST_TEST(score_of(score_method::json, R"({"b": "x", "a": [1.0, 2.5, null]})", gold) == 1.0);
  BOOST_TEST(score_of(score_method::json, "```json\n{\"b\":\"x\",\"a\":[1,2.5,null]}\n```", gold) ==
             1.0);
  BOOST_TEST(score_of(score_method::json, R"({"b":"x","a":[2.5,1,null]})", gold) == 0.0);
  BOOST_TEST(score_of(score_method::json, "not JSON", gold) == 0.0);
  BOOST_TEST(score_of(score_method::json, R"({"a":1})", R"("{\"a\": 1}")") ==
             1.0); // JSON in a text
  BOOST_TEST(score_of(score_method::json, R"("red")", R"("red")") == 1.0);
  BOOST_TEST(score_of(score_method::json, R"("[1]")", R"("[1]")") == 1.0);
  for (const auto* exponent : {"1e15", "-9.007199254740992e15"})
    BOOST_TEST(score_of(score_method::json, exponent,
                        exponent[0] == '-' ? "-9007199254740992" : "1000000000000000") == 1.0);
  BOOST_TEST(score_of(score_method::json, "9007199254740994.0", "9007199254740995") == 0.0);
  auto row = result_line{};
  row.answer = "no";
  row.structured = R"({"a":1})";
  BOOST_TEST(score_answer(score_method::json, row, parse_json(R"({"a":1})").value()).value() ==
             1.0);
  for (const auto* broken : {"{'a': 1}", " [1,"}) {
    const auto failed = score_answer(score_method::json, row, json::value(broken));
    BOOST_TEST(failed.error().text.find("is not JSON") != std::string::npos);
    BOOST_TEST(check_expected(score_method::json, json::value(broken)).has_error());
  }
}

BOOST_AUTO_TEST_CASE(judge_gives_its_last_number_as_score) {
  const auto judged = [](const std::string& answer, const std::string& structured = {}) {
    auto row = result_line{};
    row.answer = answer;
    row.structured = structured;
    return judged_score(row).value_or(-1);
  };
  BOOST_TEST(judged("2 of 3 facts are right: 0.75") == 0.75);
  BOOST_TEST(judged("1") == 1.0);
  BOOST_TEST(judged("7") == -1.0);
  BOOST_TEST(judged("good") == -1.0);
  BOOST_TEST(judged("", R"({"reason":"3 of 5","score":0.5})") == 0.5);
  BOOST_TEST(judged("0.1", R"({"score":"high"})") == -1.0);
  auto options = score_options{};
  const auto columns = std::string{R"(,"columns":{"gold":"x"})"};
  auto lines = std::string{};
  for (const auto* answer : {"0.5", "1", "no idea"}) {
    auto line = ok_line(answer, answer);
    lines += line.insert(line.size() - 2, columns);
  }
  options.output = write("judged.jsonl", lines);
  options.field = "gold";
  options.method = score_method::judge;
  const auto got = score_file(options).value();
  BOOST_TEST(got.scored == 2U);
  BOOST_TEST(got.scores.sum() == 1.5);
  BOOST_TEST(got.without == 1U);
}

BOOST_AUTO_TEST_CASE(member_path_may_contain_dots) {
  const auto line = parse_json(R"({"a":{"b":1,"c.d":2},"a.b":3,"e":{"f":{"g":4}}})").value();
  const auto at = [&](std::string_view path) {
    const auto* const found = member_at(line.as_object(), path);
    return found != nullptr ? superstep::to_text(*found) : "none";
  };
  BOOST_TEST(at("a.b") == "3");
  BOOST_TEST(at("a.c.d") == "2");
  BOOST_TEST(at("e.f.g") == "4");
  BOOST_TEST(at("e.g") == "none");
}

BOOST_AUTO_TEST_CASE(rows_of_a_job_are_scored_by_id) {
  const auto out = write("out.jsonl", ok_line("c", "3") + ok_line("a", "1") +
                                          failed_line("b", "model_error") + ok_line("d", "4"));
  const auto in = write("in.jsonl", R"({"id":"a","meta":{"gold":"1"}}
{"id":"b","meta":{"gold":"2"}}

{"custom_id":"c","meta":{"gold":"4"}}
{"id":"d"}
)");
  auto options = score_options{};
  options.output = out;
  options.gold_file = in;
  options.field = "meta.gold";
  const auto got = score_file(options).value();
  BOOST_TEST(got.scored == 3U);
  BOOST_TEST(got.failed == 1U);
  BOOST_TEST(got.without == 1U);
  BOOST_TEST(got.scores.sum() == 1.0);
  BOOST_TEST(
      to_text(got).starts_with("score 33.3 % (95 % confidence: 6.1 to 79.2 %), 3 rows scored"));
  // Reports read the scores beside the output.
  const auto statistics = report::of_file(out).value();
  BOOST_TEST(statistics.rows_scored == 3U);
  BOOST_TEST(statistics.scores.sum() == 1.0);
  BOOST_TEST(score_file(options).value().scores.sum() == 1.0); // replaces the earlier scores
  // They are ignored after the output has changed, for example because rows ran again.
  BOOST_TEST(!score_table::is_outdated(out));
  const auto scored = std::filesystem::last_write_time(scores_path_of(out));
  std::filesystem::last_write_time(out, scored + std::chrono::seconds{1});
  BOOST_TEST(score_table::is_outdated(out));
  BOOST_TEST(report::of_file(out).value().rows_scored == 0U);
  BOOST_TEST(!score_table::is_outdated(in)); // it has no scores
}

BOOST_AUTO_TEST_CASE(cancelled_scoring_leaves_no_file) {
  auto first = ok_line("a", "1");
  first.insert(first.size() - 2, R"(,"columns":{"label":"1"})");
  auto options = score_options{};
  options.output = write("out.jsonl", first + ok_line("b", "1"));
  options.field = "label";
  auto lines = 0;
  options.is_cancelled = [&] { return ++lines > 1; };
  BOOST_TEST(score_file(options).error().code == errc::cancelled);
  const auto folder = std::filesystem::path{options.output}.parent_path();
  for (const auto& file : std::filesystem::directory_iterator{folder})
    BOOST_TEST(file.path() == options.output);
  options.gold_file = write("gold.jsonl", R"({"id":"a","label":"1"})");
  options.is_cancelled = [] { return true; };
  BOOST_TEST(score_file(options).error().code == errc::cancelled);
}

BOOST_AUTO_TEST_CASE(incomplete_last_line_is_reported) {
  auto first = ok_line("a", "1");
  first.insert(first.size() - 2, R"(,"columns":{"label":"1"})");
  auto options = score_options{};
  options.output = write("out.jsonl", first + R"({"id":"b")");
  options.field = "label";
  const auto got = score_file(options).value();
  BOOST_TEST(got.scored == 1U);
  BOOST_TEST(to_text(got).find("; the last line of the output is incomplete") != std::string::npos);
  options.output = write("whole.jsonl", first);
  BOOST_TEST(to_text(score_file(options).value()).find("incomplete") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(rows_of_unknown_status_are_named) {
  const auto out = write("out.jsonl", R"({"id":"a","label":"1"})"
                                      "\n"
                                      R"({"id":"b","label":"2","status":"ok"})"
                                      "\n");
  auto options = score_options{};
  options.output = out;
  options.gold_file = write("gold.jsonl", R"({"id":"a","gold":"1"})"
                                          "\n"
                                          R"({"id":"b","gold":"2"})"
                                          "\n");
  options.field = "gold";
  options.answer = "label";
  const auto got = score_file(options).value();
  BOOST_TEST(got.unknown == 1U);
  BOOST_TEST(to_text(got).find("2 rows scored, 1 of unknown status (write ") != std::string::npos,
             to_text(got));
  auto lines = std::ifstream{scores_path_of(out)};
  auto first = std::string{};
  std::getline(lines, first);
  BOOST_TEST(parse_json(first).value().at("status").as_string() == "unknown");
}

BOOST_AUTO_TEST_CASE(columns_of_output_contain_expected_answers) {
  auto first = ok_line("a", "1");
  first.insert(first.size() - 2, R"(,"columns":{"label":"1","x":[]})");
  auto second = ok_line("b", "1");
  second.insert(second.size() - 2, R"(,"columns":{"label":2})");
  auto options = score_options{};
  options.output = write("out.jsonl", first + second + ok_line("c", "1"));
  options.field = "label";
  const auto got = score_file(options).value();
  BOOST_TEST(got.scored == 2U);
  BOOST_TEST(got.scores.sum() == 1.0);
  BOOST_TEST(got.without == 1U);
  options.field = "gold";
  BOOST_TEST(score_file(options).error().text.find(
                 "in the column 'gold'; the columns are label, x") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(columns_of_selected_fields_contain_expected_answers) {
  auto options = score_options{};
  options.output = write("out.jsonl", R"({"id":"a","response.label":"1","columns.label":"1"}
{"id":"b","response.label":"1","columns.label":"2"}
)");
  options.field = "label";
  options.answer = "label";
  const auto got = score_file(options).value();
  BOOST_TEST(got.scored == 2U);
  BOOST_TEST(got.scores.sum() == 1.0);
}

BOOST_AUTO_TEST_CASE(unknown_answer_field_is_an_error) {
  auto options = score_options{};
  options.gold_file = write("gold.jsonl", R"({"id":"a","label":"1"})");
  options.field = "label";
  const auto fails_with = [&](const std::string& line, std::string_view text) {
    options.output = write("out.jsonl", line + '\n');
    const auto scored = score_file(options);
    return scored.has_error() && scored.error().text.find(text) != std::string::npos;
  };
  const auto* const structured =
      R"({"id":"a","output":{"messages":[],"structured_response":{"label":"1","why":""}}})";
  options.answer = "labl";
  BOOST_TEST(fails_with(structured, "has the field 'labl'; the fields are label, why"));
  options.answer = "response.why.not";
  BOOST_TEST(fails_with(structured, "has the field 'response.why.not'"));
  options.answer = "label";
  BOOST_TEST(!fails_with(failed_line("a", "timeout"), "")); // no row has an answer
  options.answer.clear();
  BOOST_TEST(
      fails_with(R"({"id":"a","label":"1"})", "select a field with --answer; the fields are id"));
}

BOOST_AUTO_TEST_CASE(hint_names_members_of_compared_responses) {
  auto options = score_options{};
  options.output =
      write("out.jsonl",
            R"({"id":"a","output":{"messages":[],"structured_response":{"label":"1","why":""}}})");
  options.gold_file = write("gold.jsonl", R"({"id":"a","label":"1","all":{"label":"1","why":""}})");
  options.field = "label";
  BOOST_TEST(to_text(score_file(options).value()).ends_with("compares one member: label, why"));
  options.answer = "label";
  BOOST_TEST(score_file(options).value().hint == "");
  options.answer.clear();
  options.field = "all";
  BOOST_TEST(score_file(options).value().hint == "");
}

BOOST_AUTO_TEST_CASE(answer_field_is_checked_before_a_job_runs) {
  using names = std::vector<std::string>;
  const auto members = names{"label", "meta"};
  for (const auto* name : {"label", "response.label", "meta.page", "usage.total_tokens", "status"})
    BOOST_TEST(check_answer_field(name, members, {}).has_value(), name);
  for (const auto* name : {"labl", "response.labl", "label2", "response"})
    BOOST_TEST(check_answer_field(name, members, {}).has_error(), name);
  BOOST_TEST(check_answer_field("label", {}, {}).error().text.find("no structured response") !=
             std::string::npos);
  for (const auto& fields : {names{"response"}, names{"usage", "label"}, names{"response.label"}})
    BOOST_TEST(check_answer_field("label", members, fields).has_value());
  BOOST_TEST(check_answer_field("label", members, names{"answer", "usage"})
                 .error()
                 .text.find("--fields selects answer, usage") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unusable_expected_answers_are_errors) {
  auto options = score_options{};
  options.output = write("out.jsonl", ok_line("a", "1"));
  options.gold_file = write("in.jsonl", R"({"id":"a","gold":"("})"
                                        "\n");
  options.field = "label";
  BOOST_TEST(score_file(options).error().text.find(
                 "in the column 'label'; the columns are id, gold") != std::string::npos);
  options.field = "gold";
  options.method = score_method::regex;
  BOOST_TEST(score_file(options).error().text.find("row 'a'") != std::string::npos);
  options.gold_file = write("in.csv", "id,gold\na,1,2\n");
  BOOST_TEST(score_file(options).error().text.find("in.csv:2: has 3 fields") != std::string::npos);
  options.gold_file = write("in.jsonl", "gold of a\n");
  BOOST_TEST(score_file(options).error().text.find("in.jsonl:1: ") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep::results
