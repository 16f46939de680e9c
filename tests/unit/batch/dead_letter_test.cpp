// SPDX-License-Identifier: Apache-2.0
// Dead letters: they keep what the input line contains, are found by their keys, and can be used as
// input.
#include "batch/input_row.hpp"
#include "batch/output_line.hpp"
#include "batch/row_format.hpp"
#include "batch/written_line.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <string_view>

BOOST_AUTO_TEST_SUITE(dead_letters)

namespace {

using namespace superstep;
using namespace superstep::detail;
using namespace superstep::testing;

row_error timeout() {
  auto why = row_error{};
  why.kind = "timed_out";
  why.message = "too slow";
  return why;
}

/// A job with the template `Q: {{question}} {{error}}`, whose rows fail if the text contains
/// `fail`.
struct error_column_job : job {
  explicit error_column_job(std::string_view text, std::string_view name = "in.jsonl") : job{""} {
    options.input = folder / name;
    write_file(options.input, text);
    options.input_template =
        message_template::parse(
            parse_json(R"([{"role":"user","content":"Q: {{question}} {{error}}"}])")
                .value()
                .as_array())
            .value();
  }
  [[nodiscard]] std::string text_of(const std::string& key) {
    return std::string{output()[key]["output"].at("messages").at(0).at("content").as_string()};
  }
};

std::string native_line(std::string_view id, std::string_view custom_id, std::string_view text) {
  return R"({"id":")" + std::string{id} + R"(","custom_id":")" + std::string{custom_id} +
         R"(","input":{"messages":[{"role":"user","content":")" + std::string{text} + "\"}]}}\n";
}

} // namespace

// `custom_id` is a column of these rows.
BOOST_AUTO_TEST_CASE(retry_finds_native_row_with_column_custom_id) {
  auto job = testing::job{native_line("a", "x", "fail") + native_line("b", "x", "hi") +
                          native_line("x", "b", "fail") + native_line("y", "y", "fail")};
  BOOST_TEST(job.run().value().failed == 3U);
  auto letters = std::map<std::string, json::object>{};
  auto in = std::istringstream{job.file("out.dead.jsonl")};
  for (auto line = std::string{}; std::getline(in, line);) {
    auto letter = parse_json(line).value().as_object();
    letters[std::string{letter["id"].as_string()}] = letter;
  }
  BOOST_TEST(letters["a"]["error"].at("id").as_string() == "a");
  BOOST_TEST(letters["x"]["error"].at("id").as_string() == "x");
  BOOST_TEST(!letters["y"]["error"].as_object().contains("id"));
  job.options.retry_dead = true;
  job.runner.runs.clear();
  BOOST_TEST(job.run().value().left() == 0U);
  BOOST_TEST(job.runner.runs.size() == 3U);
  BOOST_TEST(!job.runner.runs.contains("b"));
  BOOST_TEST(job.file("out.dead.jsonl").find(R"("id":"x")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(sample_of_unusual_line_has_its_own_key) {
  const auto deep = std::string(250, '[') + std::string(250, ']');
  for (const auto& member : {std::string{R"({"k":1,"k":2})"}, deep}) {
    auto origin = row_origin{};
    origin.key = "a#2";
    origin.key_name = origin.id_member = "id";
    origin.sample = 2;
    auto line = std::string{};
    append_dead_line(line, origin, R"({"id":"a","x":)" + member + "}", timeout());
    auto parser = simdjson::dom::parser{};
    const auto letter = parser.parse(line).get_object().value();
    BOOST_TEST(key_of(letter) == "a#2");
    BOOST_TEST(simdjson::minify(letter["x"].value()) == member);
  }
}

BOOST_AUTO_TEST_CASE(error_of_old_letter_is_replaced) {
  auto origin = row_origin{};
  origin.key = "a";
  origin.has_error = true;
  auto line = std::string{};
  append_dead_line(
      line, origin,
      R"({"id":"a","x":{"k":1,"k":2},"error":{"kind":"old","code":"old","message":"m","id":"b"}})",
      timeout());
  BOOST_TEST(line == R"({"id":"a","x":{"k":1,"k":2},"error":{"kind":"timed_out",)"
                     R"("code":"timed_out","message":"too slow"}})"
                     "\n");
}

BOOST_AUTO_TEST_CASE(column_named_error_is_kept) {
  for (const auto* value :
       {R"("disk full")", "null", "7", R"({"code":"E1"})", R"({"kind":"x","code":1})"}) {
    auto job = error_column_job{R"({"id":"a","question":"hi","error":)" + std::string{value} +
                                "}\n"
                                R"({"id":"b","question":"fail","error":)" +
                                value + "}\n"};
    const auto first = job.run();
    BOOST_REQUIRE_MESSAGE(first.has_value(), first.error().text);
    BOOST_TEST(first->failed == 1U);
    BOOST_TEST(to_text(job.output()["a"]["columns"].at("error")) == value);
    const auto text = job.text_of("b");
    // A dead letter is the same row, also if it fails again.
    auto letters = job.file("out.dead.jsonl");
    for (auto turn = 0; turn < 2; ++turn) {
      auto again = error_column_job{letters};
      BOOST_TEST(again.run().value().failed == 1U);
      BOOST_TEST(again.text_of("b") == text);
      BOOST_TEST(to_text(again.output()["b"]["columns"].at("error")) == value);
      letters = again.file("out.dead.jsonl");
    }
    job.options.retry_dead = true;
    BOOST_TEST(job.run().value().rows_this_run == 1U);
    BOOST_TEST(job.text_of("b") == text);
  }
}

BOOST_AUTO_TEST_CASE(column_named_error_of_table_is_kept) {
  auto job = error_column_job{"id,question,error\na,hi,disk full\nb,fail,none\n", "in.csv"};
  BOOST_TEST(job.run().value().failed == 1U);
  BOOST_TEST(job.text_of("a") == "Q: hi disk full");
  auto again = error_column_job{job.file("out.dead.jsonl")};
  BOOST_TEST(again.run().value().failed == 1U);
  BOOST_TEST(again.text_of("b") == "Q: fail none");
}

// The template must not get the error that an earlier job has added.
BOOST_AUTO_TEST_CASE(error_of_dead_letter_is_not_a_column) {
  const auto letter = std::string{
      R"({"id":"a","question":"hi","error":{"kind":"timed_out","code":"timed_out","message":"m"}})"};
  auto job = error_column_job{letter};
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text.find("error") != std::string::npos, refused.error().text);
  auto plain = testing::job{chat_line("a", "fail")};
  BOOST_TEST(plain.run().value().failed == 1U);
  auto second = testing::job{plain.file("out.dead.jsonl")};
  BOOST_TEST(second.run().value().failed == 1U);
  BOOST_TEST(!second.output()["a"].contains("columns"));
}

BOOST_AUTO_TEST_SUITE_END()
