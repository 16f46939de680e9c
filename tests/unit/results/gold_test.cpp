// SPDX-License-Identifier: Apache-2.0
// Expected answers: the files that contain them, and the lines that belong to rows.
#include "batch/journal.hpp"
#include "results/gold.hpp"
#include "results/gold_check.hpp"
#include "results/score.hpp"
#include "unit/results/output_file.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <tuple>

namespace superstep::results {

using testing::ok_line;
using testing::output_files;

BOOST_FIXTURE_TEST_SUITE(gold, output_files)

BOOST_AUTO_TEST_CASE(gold_file_for_other_rows_is_an_error) {
  auto options = score_options{};
  options.output = write("out.jsonl", ok_line("a", "1"));
  options.gold_file = write("gold.csv", "nr,label\na,1\n");
  options.field = "label";
  const auto why = score_file(options).error().text;
  for (const auto* part : {"(the first line has the id '2', the first row 'a')", "--id-field"})
    BOOST_TEST(why.find(part) != std::string::npos, why);
  options.id_field = "nr";
  BOOST_TEST(score_file(options).value().scores.sum() == 1.0);
  options.gold_file = write("gold.csv", "nr;label\na;1\n");
  BOOST_TEST(score_file(options).error().text.ends_with("use --delimiter ';'"));
  options.delimiter = ';';
  BOOST_TEST(score_file(options).value().scores.sum() == 1.0);
}

BOOST_AUTO_TEST_CASE(jobs_share_a_gold_file) {
  auto options = score_options{};
  options.files = std::make_shared<gold_files>();
  options.gold_file = write("gold.csv", "id,label\na,1\nb,2\n");
  options.field = "label";
  BOOST_TEST(check_gold(options).has_value());
  const auto opened = open_gold(options, options.gold_file, input_format::by_name).value();
  for (const auto* name : {"one.jsonl", "two.jsonl"}) {
    options.output = write(name, ok_line("a", "1") + ok_line("b", "1"));
    BOOST_TEST(score_file(options).value().scores.sum() == 1.0);
  }
  options.output = write("three.jsonl", ok_line("c", "1"));
  BOOST_TEST(score_file(options).error().text.find("has the id of a row") != std::string::npos);
  const auto open_again = [&] {
    return open_gold(options, options.gold_file, input_format::by_name).value();
  };
  BOOST_TEST((open_again() == opened));
  // A file that has changed is read again.
  std::ignore = write("gold.csv", "id,label\na,1\nb,1\nc,1\n");
  BOOST_TEST((open_again() != opened));
  BOOST_TEST(score_file(options).value().scores.sum() == 1.0);
  options.files = nullptr;
  BOOST_TEST((open_again() != open_again()));
}

BOOST_AUTO_TEST_CASE(row_with_an_empty_cell_has_no_score) {
  auto options = score_options{};
  options.output = write("out.jsonl", ok_line("a", "1") + ok_line("b", "2"));
  options.field = "label";
  for (const auto* lines : {"id,label\na,1\nb,\n", "id,label\na,1\nb, \t\n"}) {
    options.gold_file = write("gold.csv", lines);
    options.method = score_method::contains;
    const auto got = score_file(options).value();
    BOOST_TEST(got.scored == 1U);
    BOOST_TEST(got.scores.sum() == 1.0);
  }
}

BOOST_AUTO_TEST_CASE(gold_is_checked_before_a_job_runs) {
  auto options = score_options{};
  options.output = write("out.jsonl", "");
  options.input = write("in.jsonl", R"({"id":"a","text":"x"}
not JSON
{"id":"b","text":"y","meta":{"label":1}}
)");
  options.field = "meta.label";
  BOOST_TEST(check_gold(options).has_value());
  const auto fails_with = [&](std::string_view text) {
    const auto checked = check_gold(options);
    return checked.has_error() && checked.error().text.find(text) != std::string::npos;
  };
  options.field = "label";
  BOOST_TEST(fails_with("in the column 'label'; the columns are id, text"));
  options.gold_file = write("gold.jsonl", R"({"id":"c","label":1})");
  BOOST_TEST(fails_with("has the id of a row"));
  options.field = "gold";
  BOOST_TEST(fails_with("no line of " + options.gold_file));
  options.field = "label";
  options.gold_file = write("gold.jsonl", R"({"id":"b","label":1})");
  BOOST_TEST(check_gold(options).has_value());
  options.gold_file.clear();
  options.input = write("empty.jsonl", "");
  BOOST_TEST(check_gold(options).has_value());
}

BOOST_AUTO_TEST_CASE(gold_column_may_have_its_prefix) {
  auto options = score_options{};
  options.field = "columns.label";
  for (const auto* line : {R"({"id":"a","answer":"x","columns.label":"x"})",
                           R"({"id":"a","answer":"x","columns":{"label":"x"}})"}) {
    options.output = write("out.jsonl", std::string{line} + '\n');
    BOOST_TEST(score_file(options).value().scores.sum() == 1.0, line);
  }
  options.output = write("out.jsonl", "{\"id\":\"a\",\"answer\":\"x\"}\n");
  options.input = write("in.jsonl", R"({"id":"a","text":"q","label":"x"})");
  BOOST_TEST(check_gold(options).has_value());
  BOOST_TEST(score_file(options).value().scores.sum() == 1.0);
}

BOOST_AUTO_TEST_CASE(repeated_rows_have_the_answer_of_their_row) {
  auto options = score_options{};
  options.output =
      write("out.jsonl", ok_line("a#1", "x") + ok_line("a#2", "y") + ok_line("b#", "x"));
  options.gold_file = write("in.jsonl", R"({"id":"a","gold":"x"})");
  options.field = "gold";
  const auto got = score_file(options).value();
  BOOST_TEST(got.scored == 2U);
  BOOST_TEST(got.scores.sum() == 1.0);
}

BOOST_AUTO_TEST_CASE(rows_without_id_are_matched_by_line_number) {
  auto options = score_options{};
  options.output = write("out.jsonl", ok_line("1", "x") + ok_line("2", "y"));
  options.gold_file = write("in.jsonl", "{\"gold\":\"x\"}\n{\"gold\":\"y\"}\n");
  options.field = "gold";
  BOOST_TEST(score_file(options).value().scores.sum() == 2.0);
}

BOOST_AUTO_TEST_CASE(repeated_ids_of_gold_file_are_errors) {
  auto options = score_options{};
  options.output = write("out.jsonl", ok_line("a", "x") + ok_line("b", "y"));
  options.field = "gold";
  for (const auto* lines : {"id,gold\na,x\nb,y\na,z\n", "id,gold\na,x\na,x\nb,y\nb,y\n"}) {
    options.gold_file = write("gold.csv", lines);
    const auto refused = score_file(options);
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().text.find("have the same id \"") != std::string::npos,
               refused.error().text);
  }
  options.gold_file = write("gold.csv", "id,gold\na,x\nb,x\n");
  BOOST_TEST(score_file(options).value().scores.sum() == 1.0);
}

// The first line of a table has the names of its columns, so that its rows begin with line 2.
BOOST_AUTO_TEST_CASE(numbered_table_does_not_match_numbered_json_lines) {
  auto options = score_options{};
  options.field = "gold";
  options.gold_file = write("gold.csv", "gold\nx\ny\n");
  options.output = write("out.jsonl", ok_line("1", "x") + ok_line("2", "y"));
  options.input = write("in.jsonl", "{\"text\":\"x\"}\n{\"text\":\"y\"}\n");
  for (const auto& refused : {check_gold(options), result<void>{score_file(options).error()}}) {
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().text.find("add a column id") != std::string::npos,
               refused.error().text);
  }
  options.input.clear();
  options.output = write("out.jsonl", ok_line("2", "x") + ok_line("3", "y")); // of a table
  BOOST_TEST(score_file(options).value().scores.sum() == 2.0);
  for (const auto* id : {"1", "1#1"}) {
    options.output = write("out.jsonl", ok_line(id, "x") + ok_line("3", "y"));
    BOOST_TEST(score_file(options).error().text.find("begin with line 2") != std::string::npos, id);
  }
  // A table with ids may have no answer to the row 1, even if its ids are those of its lines.
  options.gold_file = write("gold.csv", "id,gold\n2,x\n3,y\n");
  options.output = write("out.jsonl", ok_line("1", "x") + ok_line("2", "x"));
  BOOST_TEST(score_file(options).value().scored == 1U);
}

BOOST_AUTO_TEST_CASE(expected_answers_are_read_from_tables) {
  struct table {
    const char* name;
    const char* text;
    const char* id_field;
    char delimiter;
  };
  for (const auto& [name, text, id_field, delimiter] :
       {table{"a.csv", "id,gold,note\na,x,\"1,\n2\"\nb,y,\n", "", '\0'},
        table{"b.csv", "\xEF\xBB\xBFnr;gold\na;x\nb;\"y\"\n", "nr", ';'},
        table{"c.tsv", "custom_id\tgold\r\na\tx\r\nb\ty\r\n", "", '\0'}}) {
    auto options = score_options{};
    options.output = write("out.jsonl", ok_line("b#1", "y") + ok_line("a", "x"));
    options.gold_file = write(name, text);
    options.field = "gold";
    options.id_field = id_field;
    options.delimiter = delimiter;
    const auto got = score_file(options);
    BOOST_TEST_REQUIRE(got.has_value(), got.error().text);
    BOOST_TEST(got->scores.sum() == 2.0);
  }
}

BOOST_AUTO_TEST_CASE(integer_ids_match_rows) {
  auto options = score_options{};
  options.output = write("out.jsonl", ok_line("17", "x"));
  options.gold_file = write("in.jsonl", "{\"nr\":17,\"id\":\"a\",\"gold\":\"x\"}\n");
  options.field = "gold";
  options.id_field = "nr";
  BOOST_TEST(score_file(options).value().scores.sum() == 1.0);
}

BOOST_AUTO_TEST_CASE(input_of_job_completes_columns_of_output) {
  auto first = ok_line("a", "1");
  first.insert(first.size() - 2, R"(,"columns":{"label":"1"})");
  auto options = score_options{};
  options.output = write("out.jsonl", first + ok_line("b", "2"));
  options.input = write("in.csv", "id,label\na,other\nb,2\n");
  options.field = "label";
  BOOST_TEST(score_file(options).value().scores.sum() == 2.0);
}

// A job that does not start with the first row has no row with the number 1.
BOOST_AUTO_TEST_CASE(numbers_of_lines_must_be_those_of_rows) {
  auto options = score_options{};
  options.field = "gold";
  const auto error_of = [&](const std::string& rows) {
    options.output = write("out.jsonl", rows);
    const auto scored = score_file(options);
    return scored ? std::string{} : scored.error().text;
  };
  const auto journal = [&](const std::string& format) {
    auto header = superstep::detail::job_header{};
    header.format = format;
    auto records = std::string{};
    superstep::detail::append_job(records, header);
    return write("out.journal", records);
  };
  const auto part = ok_line("2", "y") + ok_line("3", "z");
  const auto table = write("gold.csv", "gold\nx\ny\nz\n");
  const auto lines = write("gold.jsonl", "{\"gold\":\"x\"}\n{\"gold\":\"y\"}\n{\"gold\":\"z\"}\n");
  for (const auto& file : {table, lines}) {
    options.gold_file = file;
    BOOST_TEST(error_of(part).find("no journal beside the output") != std::string::npos);
  }
  options.gold_file = table;
  BOOST_TEST(error_of(ok_line("4", "z")).empty());
  std::ignore = journal("csv");
  BOOST_TEST(error_of(part).empty());
  options.gold_file = lines;
  BOOST_TEST(error_of(part).find("other numbers") != std::string::npos);
  std::ignore = journal("");
  BOOST_TEST(error_of(part).empty());
  BOOST_TEST(score_file(options).value().scores.sum() == 2.0);
  options.gold_file = table;
  BOOST_TEST(error_of(part).find("other numbers") != std::string::npos);
  BOOST_TEST(error_of(ok_line("a", "x")).find("has the id of a row") != std::string::npos);
  // Before the job
  std::ignore = write("out.journal", "");
  options.input = write("in.jsonl", "\n{\"text\":\"x\"}\n{\"text\":\"y\"}\n");
  BOOST_TEST(check_gold(options).error().text.find("other numbers") != std::string::npos);
}

// For an output in CSV, the whole lines are in out.rows.jsonl, and the journal is out.journal.
BOOST_AUTO_TEST_CASE(rows_file_is_scored_with_journal_of_its_job) {
  auto header = superstep::detail::job_header{};
  auto records = std::string{};
  superstep::detail::append_job(records, header);
  std::ignore = write("out.journal", records);
  auto options = score_options{};
  options.output = write("out.rows.jsonl", ok_line("2", "y") + ok_line("3", "z"));
  options.gold_file = write("gold.jsonl", "{\"gold\":\"x\"}\n{\"gold\":\"y\"}\n{\"gold\":\"z\"}\n");
  options.field = "gold";
  const auto scored = score_file(options);
  BOOST_TEST_REQUIRE(scored.has_value(), (scored ? "" : scored.error().text));
  BOOST_TEST(scored->scores.sum() == 2.0);
  // A job may have such a name itself.
  header.format = "csv";
  records.clear();
  superstep::detail::append_job(records, header);
  std::ignore = write("out.rows.journal", records);
  BOOST_TEST(score_file(options).error().text.find("other numbers") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(invalid_lines_of_input_have_no_answers) {
  auto options = score_options{};
  options.output = write("out.jsonl", ok_line("a", "x") + ok_line("b", "y"));
  options.input =
      write("in.jsonl", "{\"id\":\"a\",\"gold\":\"x\"}\nnot JSON\n{\"id\":\"long\",\"gold\":\"" +
                            std::string(100, 'x') + "\"}\n{\"id\":\"b\",\"gold\":\"y\"}\n");
  options.field = "gold";
  options.line_bytes_max = 80;
  BOOST_TEST(check_gold(options).has_value());
  BOOST_TEST(score_file(options).value().scores.sum() == 2.0);
  options.gold_file = options.input;
  BOOST_TEST(score_file(options).error().text.find("in.jsonl:2: ") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep::results
