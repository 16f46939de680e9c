// SPDX-License-Identifier: Apache-2.0
// Comparison of two output files: matches, failures, scores, repeated ids and side-by-side text.
#include "results/compare.hpp"
#include "unit/results/output_file.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace superstep::results {

using testing::failed_line;
using testing::ok_line;
using testing::output_files;

BOOST_FIXTURE_TEST_SUITE(comparisons, output_files)

BOOST_AUTO_TEST_CASE(rows_are_matched_by_id_in_any_order) {
  const auto left = write("a", ok_line("1", "x", 10) + ok_line("2", "x") + ok_line("3", "x") +
                                   failed_line("4", "timed_out") + failed_line("5", "model_error"));
  const auto right =
      write("b", failed_line("5", "timed_out") + failed_line("4", "timed_out") +
                     failed_line("2", "model_error") + ok_line("1", "x", 20) + ok_line("6", "<i>"));
  auto seen = std::multiset<std::string>{};
  const auto got = compare(left, right, {}, [&](const row_pair& pair) {
                     seen.insert(pair.key + ' ' + std::string{to_string(pair.match)});
                   }).value();
  const auto wanted = std::multiset<std::string>{"1 same", "2 different", "3 only left",
                                                 "4 same", "5 different", "6 only right"};
  BOOST_TEST(seen == wanted, boost::test_tools::per_element());
  BOOST_TEST(got.same == 2U);
  BOOST_TEST(got.different == 2U);
  BOOST_TEST(got.only_left == 1U);
  BOOST_TEST(got.only_right == 1U);
  BOOST_TEST(got.failed_right == 1U);
  BOOST_TEST(got.failed_left == 0U);
  BOOST_TEST(got.rows.size() == 4U); // without the rows that are the same
  BOOST_TEST(got.left.rows() == 5U);
  BOOST_TEST(got.right.rows() == 5U);
  const auto text = to_text(got, 60);
  BOOST_TEST(text.find("2 same, 2 different, 1 only left, 1 only right") != std::string::npos);
  BOOST_TEST(text.find("2: different") != std::string::npos);
  BOOST_TEST(to_html(got).find("<i>") == std::string::npos);
  BOOST_TEST(to_json(got).at("rows").at("same").as_uint64() == 2U);
}

BOOST_AUTO_TEST_CASE(only_first_rows_are_kept) {
  auto left = std::string{};
  auto right = std::string{};
  for (auto i = 0; i < 1'000; ++i) {
    left += ok_line(std::to_string(i), "left");
    right += ok_line(std::to_string(999 - i), "right");
  }
  auto options = compare_options{};
  options.rows_max = 3;
  const auto got = compare(write("a", left), write("b", right), options).value();
  BOOST_TEST(got.different == 1'000U);
  BOOST_REQUIRE(got.rows.size() == 3U);
  BOOST_TEST(got.rows[2].key == "2");
}

BOOST_AUTO_TEST_CASE(higher_scores_are_counted) {
  const auto with_score = [](std::string line, const std::string& score) {
    line.insert(line.size() - 2, ",\"score\":" + score);
    return line;
  };
  const auto left =
      write("a", with_score(ok_line("1", "x"), "1") + with_score(ok_line("2", "x"), "0") +
                     with_score(ok_line("3", "x"), "1"));
  const auto right =
      write("b", with_score(ok_line("1", "y"), "0") + with_score(ok_line("2", "y"), "0") +
                     with_score(ok_line("3", "y"), "0.5"));
  const auto got = compare(left, right, {}).value();
  BOOST_TEST(got.better_left == 2U);
  BOOST_TEST(got.better_right == 0U);
  BOOST_TEST(to_text(got, 80).find("score") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(scores_of_different_origin_are_not_compared) {
  const auto with_score = [](const std::string& id, const std::string& members) {
    auto line = ok_line(id, "x");
    line.insert(line.size() - 2, ',' + members);
    return line;
  };
  const auto exact = R"("score":1,"method":"exact","gold_field":"label")";
  const auto left = write("a", with_score("1", exact));
  struct other_scores {
    std::string members;
    std::string by; // empty: comparable
  };
  for (const auto& other :
       {other_scores{R"("score":0,"method":"exact","gold_field":"label")", ""},
        {R"("score":0)", ""}, // an unknown method
        {R"("score":0,"method":"contains","gold_field":"label")", "contains, column label"},
        {R"("score":0,"method":"exact","gold_field":"other")", "exact, column other"},
        {R"("score":0,"method":"judge","gold_field":"label","judge":"j.yaml")",
         "judge j.yaml, column label"}}) {
    const auto got = compare(left, write("b", with_score("1", other.members)), {}).value();
    const auto is_comparable = other.by.empty();
    BOOST_TEST(got.better_left == (is_comparable ? 1U : 0U));
    const auto note = is_comparable ? std::string{}
                                    : "the scores are not compared, because they were made in "
                                      "different ways: left by exact, column label, right by " +
                                          other.by;
    BOOST_TEST(scores_note(got) == note);
    BOOST_TEST((to_text(got, 80).find("-100.0 pp") != std::string::npos) == is_comparable);
    BOOST_TEST(is_comparable == (to_html(got).find("not compared") == std::string::npos));
    const auto scores = to_json(got).at("scores").as_object();
    BOOST_TEST(scores.at("compared").as_bool() == is_comparable);
    BOOST_TEST(scores.at("left").as_string() == "exact, column label");
    if (!is_comparable)
      BOOST_TEST(scores.at("right").as_string() == other.by);
  }
}

BOOST_AUTO_TEST_CASE(omitted_rows_are_counted) {
  auto lines = std::string{};
  auto others = std::string{};
  for (auto i = 0; i < 30; ++i) {
    lines += ok_line(std::to_string(i), "x");
    others += ok_line(std::to_string(i), i < 10 ? "x" : "y");
  }
  const auto left = write("a", lines);
  const auto right = write("b", others);
  auto options = compare_options{};
  options.rows_max = 5;
  BOOST_TEST(omitted_rows_note(compare(left, right, options).value()) ==
             "… and 15 more; --rows 20 lists all");
  options.keeps_same = true;
  BOOST_TEST(omitted_rows_note(compare(left, right, options).value()) ==
             "… and 25 more; --rows 30 lists all");
  options.rows_max = 30;
  BOOST_TEST(omitted_rows_note(compare(left, right, options).value()).empty());
}

BOOST_AUTO_TEST_CASE(missing_scores_are_not_compared) {
  auto scored = ok_line("1", "x");
  scored.insert(scored.size() - 2, ",\"score\":1");
  const auto got = compare(write("a", ok_line("1", "x")), write("b", scored), {}).value();
  BOOST_TEST(got.better_left == 0U);
  BOOST_TEST(got.better_right == 0U);
  const auto text = to_text(got, 80);
  const auto line = text.substr(text.find("score"));
  BOOST_TEST(line.substr(0, line.find('\n')).find(" 0.0 %") == std::string::npos, text);
  BOOST_TEST(line.find("100.0 %") < line.find('\n'), text);
}

BOOST_AUTO_TEST_CASE(repeated_and_missing_ids_are_errors) {
  const auto twice = write("a", ok_line("1", "x") + ok_line("1", "y"));
  const auto once = write("b", ok_line("1", "x"));
  const auto none = write("c", "{\"status\":\"ok\"}\n");
  BOOST_TEST(compare(once, twice, {}).error().text ==
             twice + ": has several rows with the id '1'; rows can only be compared by id");
  BOOST_TEST(compare(twice, once, {}).error().text ==
             twice + ": has several rows with the id '1'; rows can only be compared by id");
  const auto other = write("d", ok_line("2", "x"));
  BOOST_TEST(compare(twice, other, {}).error().text ==
             twice + ": has several rows with the id '1'; rows can only be compared by id");
  BOOST_TEST(compare(once, none, {}).error().text.find("without an id") != std::string::npos);
  BOOST_TEST(compare(none, once, {}).error().text.find("without an id") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(incomplete_last_lines_are_reported) {
  const auto whole = write("a", ok_line("1", "x"));
  const auto torn = write("b", ok_line("1", "x") + "{\"id\":\"2\"");
  const auto got = compare(torn, whole, {}).value();
  BOOST_TEST(got.left.is_torn);
  BOOST_TEST(!got.right.is_torn);
  BOOST_TEST(compare(whole, torn, {}).value().right.is_torn);
}

BOOST_AUTO_TEST_CASE(columns_wrap_at_characters) {
  BOOST_TEST(in_columns("abcdefghijklm", "ä\nb", 23) == "abcdefghij | ä\n"
                                                        "klm        | b\n");
  BOOST_TEST(in_columns("ääääääääääb", "", 23) == "ääääääääää |\nb          |\n");
}

BOOST_AUTO_TEST_CASE(unknown_answer_field_is_an_error) {
  const auto left = write("a.jsonl", R"({"id":"a","label":"1"})");
  const auto right = write("b.jsonl", R"({"id":"a","other":"1"})");
  auto options = compare_options{};
  for (const auto* field : {"label", "other", ""}) {
    options.answer = field;
    BOOST_TEST(compare(left, right, options).has_error(), field);
  }
  options.answer = "label";
  BOOST_TEST(
      compare(left, right, options)
          .error()
          .text.find("no row of " + right + " has the field 'label'; the fields are id, other") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(rows_of_unknown_status_are_named) {
  const auto left = write("a.jsonl", R"({"id":"a","label":"1"})");
  const auto right = write("b.jsonl", R"({"id":"a","label":"2","status":"ok"})");
  auto options = compare_options{};
  options.answer = "label";
  const auto got = compare(left, right, options).value();
  BOOST_TEST(to_json(got.rows.at(0)).at("left").at("status").as_string() == "unknown");
  BOOST_TEST(to_json(got.rows.at(0)).at("right").at("status").as_string() == "ok");
  const auto text = to_text(got, 100);
  for (const auto* part : {", unknown status", "of unknown status"})
    BOOST_TEST(text.find(part) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(scores_change_by_percentage_points) {
  auto got = comparison{};
  got.left.rows_scored = got.right.rows_scored = 4;
  for (const auto* key : {"a", "b", "c", "d"}) {
    got.left.scores.add(key, 0.5);
    got.right.scores.add(key, 0.75);
  }
  const auto totals = totals_of(got);
  const auto score = std::ranges::find(totals, "score", &total::name);
  BOOST_TEST_REQUIRE((score != totals.end()));
  BOOST_TEST(score->change == "+25.0 pp");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep::results
