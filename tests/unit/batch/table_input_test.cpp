// SPDX-License-Identifier: Apache-2.0
// Jobs whose input has columns: CSV, TSV and JSON lines, with a template of messages.
#include "batch/table_columns.hpp"
#include "job_fixture.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <zlib.h>

BOOST_AUTO_TEST_SUITE(table_inputs)

namespace {

using namespace superstep;
using namespace superstep::testing;

/// A job with the template `Q: {{question}}`, whose input has this name.
struct table_job : job {
  table_job(std::string_view name, std::string_view text) : job{""} {
    options.input = folder / name;
    write_file(options.input, text);
    options.input_template =
        message_template::parse(
            parse_json(R"([{"role":"user","content":"Q: {{question}}"}])").value().as_array())
            .value();
  }
  [[nodiscard]] std::string question_of(const std::string& key) const {
    auto rows = output();
    if (!rows.contains(key))
      return "no row " + key;
    return std::string{rows[key]["output"]
                           .as_object()["messages"]
                           .as_array()[0]
                           .as_object()["content"]
                           .as_string()};
  }
};

std::string gzipped(std::string_view text) {
  auto out = std::string(::compressBound(text.size()) + 64, '\0');
  auto stream = z_stream{};
  constexpr auto gzip = 16;
  ::deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + gzip, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

constexpr auto table = std::string_view{"\xEF\xBB\xBFid,question,stars\r\n"
                                        "a,\"How many, \"\"exactly\"\"?\",5\r\n"
                                        "\r\n"
                                        "b,\"two\nlines\",\r\n"
                                        "c,5\" pipe,3"};

} // namespace

BOOST_AUTO_TEST_CASE(csv_records_become_rows_with_columns) {
  auto job = table_job{"in.csv", table};
  const auto summary = job.run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(summary->ok == 3U);
  BOOST_TEST(job.question_of("a") == "Q: How many, \"exactly\"?");
  BOOST_TEST(job.question_of("b") == "Q: two\nlines");
  BOOST_TEST(job.question_of("c") == "Q: 5\" pipe");
  BOOST_TEST(to_text(job.output()["a"]["columns"]) ==
             R"({"question":"How many, \"exactly\"?","stars":"5"})");
}

BOOST_AUTO_TEST_CASE(quoted_first_column_follows_byte_order_mark) {
  auto job = table_job{"in.csv", "\xEF\xBB\xBF\"my\nnotes, old\",id,question\r\n"
                                 "n,a,hi\n\"a\nb\",b,ho\n"};
  const auto summary = job.run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(summary->ok == 2U);
  BOOST_TEST(job.question_of("b") == "Q: ho");
  BOOST_TEST(to_text(job.output()["b"]["columns"]).starts_with(R"({"my\nnotes, old":"a\nb")"));
}

BOOST_AUTO_TEST_CASE(compressed_and_plain_input_are_one_job) {
  const auto half = table.size() / 2;
  auto job = table_job{"in.csv.gz", gzipped(table.substr(0, half)) + gzipped(table.substr(half)) +
                                        std::string(512, '\0')};
  const auto summary = job.run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(summary->ok == 3U);
  BOOST_TEST(job.question_of("b") == "Q: two\nlines");
  job.options.input = job.folder / "in.csv";
  write_file(job.options.input, table);
  BOOST_TEST(job.run().value().already_finished);
}

BOOST_AUTO_TEST_CASE(damaged_gzip_is_rejected_before_any_row) {
  const auto whole = gzipped(table);
  for (const auto& bytes : {whole.substr(0, whole.size() - 6), whole + "more"}) {
    auto job = table_job{"in.csv.gz", bytes};
    const auto refused = job.run();
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(has(refused.error().text, "in.csv.gz"), refused.error().text);
    BOOST_TEST(has(refused.error().text, "gzip data"), refused.error().text);
    BOOST_TEST(job.runner.runs.empty());
  }
}

BOOST_AUTO_TEST_CASE(tab_separated_input_is_told_by_name_or_option) {
  auto job = table_job{"in.tsv", "id\tquestion\na\tone, two\n"};
  BOOST_TEST(job.run().value().ok == 1U);
  BOOST_TEST(job.question_of("a") == "Q: one, two");
  auto other = table_job{"rows", "id\tquestion\na\tone, two\n"};
  other.options.input_as = input_format::tsv;
  BOOST_TEST(other.run().value().ok == 1U);
  BOOST_TEST(other.question_of("a") == "Q: one, two");
}

// Its fields are empty; a line of a CSV file with commas only is a row, too.
BOOST_AUTO_TEST_CASE(line_of_separators_is_a_row) {
  for (const auto* lines : {"question\tn\n\t\none\t1\n", "question\tn\n\n \n\t\n\none\t1\n"}) {
    auto job = table_job{"in.tsv", lines};
    BOOST_TEST(job.run().value().ok == 2U);
  }
  auto table = table_job{"in.csv", "question,n\n,\n \none,1\n"};
  BOOST_TEST(table.run().value().ok == 2U);
}

BOOST_AUTO_TEST_CASE(delimiter_separates_fields_of_csv_only) {
  auto job = table_job{"in.csv", "id;question\na;one, two\nb;\"x;y\"\n"};
  job.options.delimiter = ';';
  BOOST_TEST(job.run().value().ok == 2U);
  BOOST_TEST(job.question_of("a") == "Q: one, two");
  BOOST_TEST(job.question_of("b") == "Q: x;y");
  job.options.delimiter = '|';
  const auto changed = job.run();
  BOOST_REQUIRE(!changed.has_value());
  auto lines = table_job{"in.jsonl", R"({"id":"a","question":"one"})"};
  lines.options.delimiter = ';';
  const auto refused = lines.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "is not a CSV file"), refused.error().text);
}

BOOST_AUTO_TEST_CASE(row_without_id_has_the_number_of_its_first_line) {
  auto job = table_job{"in.csv", "question,n\n\"a\nb\nc\",1\nsecond,2\n"};
  BOOST_TEST(job.run().value().ok == 2U);
  BOOST_TEST(job.question_of("2") == "Q: a\nb\nc");
  BOOST_TEST(job.question_of("5") == "Q: second");
}

BOOST_AUTO_TEST_CASE(failed_csv_row_becomes_usable_dead_letter_and_is_retried) {
  auto job = table_job{"in.csv", "nr,id,question\n7,x,\"fail, \"\"now\"\"\"\n8,x,fine\n"};
  job.options.id_field = "nr";
  BOOST_TEST(job.run().value().failed == 1U);
  const auto letter = parse_json(job.file("out.dead.jsonl")).value().as_object();
  BOOST_TEST(letter.at("nr").as_string() == "7");
  BOOST_TEST(letter.at("id").as_string() == "x");
  BOOST_TEST(letter.at("question").as_string() == "fail, \"now\"");
  BOOST_TEST(letter.at("error").as_object().at("id").as_string() == "7");
  BOOST_TEST(letter.at("error").as_object().at("line").as_int64() == 2);
  job.options.retry_dead = true;
  job.runner.runs.clear();
  BOOST_TEST(job.run().value().failed == 1U);
  BOOST_TEST(job.runner.runs.size() == 1U);
  BOOST_TEST(job.runner.runs["7"] == 1);
  BOOST_TEST(job.output().size() == 2U);
  auto second = table_job{"again.jsonl", job.file("out.dead.jsonl")};
  second.options.id_field = "nr";
  BOOST_TEST(second.run().value().failed == 1U);
  BOOST_TEST(second.runner.runs.contains("7"));
}

BOOST_AUTO_TEST_CASE(failed_row_with_a_number_as_id_is_retried) {
  auto job = table_job{"in.jsonl", R"({"id":17,"question":"fail"})"
                                   "\n"
                                   R"({"id":18,"question":"x"})"};
  BOOST_TEST(job.run().value().failed == 1U);
  job.options.retry_dead = true;
  const auto again = job.run().value();
  BOOST_TEST(again.rows_this_run == 1U);
  BOOST_TEST(again.failed == 1U);
  BOOST_TEST(job.output().size() == 2U);
  auto second = table_job{"again.jsonl", job.file("out.dead.jsonl")};
  BOOST_TEST(second.run().value().failed == 1U);
  BOOST_TEST(second.runner.runs.contains("17"));
}

BOOST_AUTO_TEST_CASE(size_limit_refers_to_the_text_of_a_record) {
  const auto long_name = std::string(100, 'n');
  auto job = table_job{"in.csv", "id,question," + long_name + "\na,short,1\nb," +
                                     std::string(120, 'x') + ",2\n\"c\n\",\"last\n\",3\n"};
  job.options.line_bytes_max = 118; // the names of the columns need 112
  job.options.bad_lines = on_bad_line::dead_letter;
  const auto summary = job.run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(summary->ok == 2U);
  BOOST_TEST(summary->bad_lines == 1U);
  BOOST_TEST(has(job.file("out.dead.jsonl"), "\"line\":3"));
  BOOST_TEST(job.question_of("c\n") == "Q: last\n");
}

BOOST_AUTO_TEST_CASE(json_lines_are_columns_if_there_is_a_template) {
  auto job =
      table_job{"in.jsonl", R"({"id":17,"question":{"text":"deep","n":[1,2.5]},"tags":["x"]})"
                            "\n"
                            R"({"id":"b","question":null,"messages":"mine","error":1})"};
  BOOST_TEST(job.run().value().ok == 2U);
  BOOST_TEST(job.question_of("17") == R"(Q: {"text":"deep","n":[1,2.5]})");
  BOOST_TEST(job.question_of("b") == "Q: ");
  BOOST_TEST(to_text(job.output()["b"]["columns"]) ==
             R"({"question":null,"messages":"mine","error":1})");
  auto dotted = table_job{"in.jsonl", R"({"id":"a","question":{"text":"deep"},"q.t":"flat"})"};
  dotted.options.input_template =
      message_template::parse(
          parse_json(R"([["user","{{question.text}} {{q.t}}"]])").value().as_array())
          .value();
  BOOST_TEST(dotted.run().value().ok == 1U);
  BOOST_TEST(dotted.question_of("a") == "deep flat");
}

BOOST_AUTO_TEST_CASE(unknown_members_of_chat_rows_are_copied) {
  auto job = testing::job{R"({"id":"a","messages":[{"role":"user","content":"x"}],"stars":4.5,)"
                          R"("metadata":{"lang":"de"},"tags":["t"]})"};
  BOOST_TEST(job.run().value().ok == 1U);
  BOOST_TEST(to_text(job.output()["a"]["columns"]) ==
             R"({"stars":4.5,"metadata":{"lang":"de"},"tags":["t"]})");
}

BOOST_AUTO_TEST_CASE(columns_of_input_are_fields_of_output) {
  auto job = table_job{"in.csv", "id,question,stars,status\na,\"one, two\",5,new\n"};
  job.options.output = job.folder / "out.csv";
  job.options.format = output_format::csv;
  job.options.fields = {"stars", "columns.status", "answer"};
  const auto summary = job.run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(job.file("out.csv") == "\"id\",\"stars\",\"columns.status\",\"answer\"\n"
                                    "\"a\",\"5\",\"new\",\"echo Q: one, two\"\n");
  job.options.fields = {"starz"};
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text,
                 "unknown field \"starz\"; did you mean 'stars'?; known fields: id, "));
  BOOST_TEST(has(refused.error().text, ", question, stars, status"));
}

BOOST_AUTO_TEST_CASE(id_field_is_no_field_of_its_own) {
  for (const auto* field : {"ticket", "columns.ticket"}) {
    auto job = table_job{"in.csv", "ticket,question\nt1,x\n"};
    job.options.id_field = "ticket";
    job.options.fields = {"answer", field};
    const auto refused = job.run();
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(has(refused.error().text, "the values of 'ticket' are the field id"),
               refused.error().text);
  }
}

struct wrong_table {
  std::string_view name, text, id_field, expected;
};
std::ostream& operator<<(std::ostream& out, const wrong_table& c) {
  return out << c.name;
}

const auto wrong_tables = std::vector<wrong_table>{
    {"too few fields", "id,question\na\n", "",
     R"(line 2: has 1 field, but the first line names 2 columns: "id", "question")"},
    {"too many fields", "id,question\na,\"x\ny\"\nb,c,d\n", "", "line 4: has 3 fields, but"},
    {"text after quotes", "id,question\na,\"x\"y\n", "",
     "line 2: field 2 has text after its closing quote: \"y\""},
    {"open quotes", "id,question\na,x\nb,\"y\n", "", "line 3: the quotes of field 2 are not "},
    {"open quotes before rows", "id,question\na,\"x\ny\"\nb,\"y\nc,z\n", "",
     "line 4: a field begins with a quote on line 4 that is not closed, so all lines that follow"},
    {"lone carriage return", "id,question\na,x\ry\n", "", "line 2: field 2 contains a carriage"},
    {"duplicate names", "id,question,id\n", "",
     "in.csv:1: the columns 1 and 3 have the same name, \"id\""},
    {"missing column", "id,query\na,x\n", "",
     R"(messages.0.content: {{question}} is not a column of)"},
    {"another separator", "id;question\na;x\n", "",
     "it has the columns \"id;question\"; if ';' separates the names, use --delimiter ';'"},
    {"tabs", "id\tquestion\na\tx\n", "", "use --delimiter tab"},
    {"missing id column", "id,question\na,x\n", "nr", "--id-field: \"nr\" is not a column of"},
    {"empty id", "id,question\n,x\n", "", "line 2: \"id\" must be a non-empty string"},
    {"repeated id", "id,question\na,x\n\na,y\n", "", "line 4: the row id \"a\" is already used on"},
    {"no header", "\n", "", "in.csv is empty: its first line must name the columns"},
    {"wrong encoding", "id,question\na,\xE9\n", "", "line 2: is not UTF-8"},
};

BOOST_DATA_TEST_CASE(invalid_table_is_rejected_with_line,
                     boost::unit_test::data::make(wrong_tables), c) {
  auto job = table_job{"in.csv", c.text};
  job.options.id_field = c.id_field;
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, c.expected), refused.error().text);
  BOOST_TEST(job.runner.runs.empty());
}

struct open_quote {
  std::string_view name, text;
  std::size_t line_bytes_max;
  std::string_view expected; ///< part of the error; empty if the other rows run
};
std::ostream& operator<<(std::ostream& out, const open_quote& c) {
  return out << c.name;
}

const auto open_quotes = std::vector<open_quote>{
    {"on the line of the row", "id,question\na,x\nb,\"y\nc,z", 1'000,
     "quote on line 3 that is not"},
    {"below the line of the row", "id,question\n\"a\n1\",\"y\nc,z\nd,z\n", 1'000,
     "in.csv: a field begins with a quote on line 3 that is not closed"},
    {"after doubled quotes", "id,question\na,\"x\n\"\"y\nc,z\n", 1'000,
     "quote on line 2 that is not"},
    {"in a line that is too long", "id,question\na,x\nb,\"y\nc,long\n", 11,
     "quote on line 3 that is not"},
    {"in the last line", "id,question\na,x\nb,\"y\n", 1'000, ""},
    {"in the last line, too long", "id,question\na,x\nb,\"long long long\n", 11, ""},
};

BOOST_DATA_TEST_CASE(open_quote_before_rows_is_no_dead_letter,
                     boost::unit_test::data::make(open_quotes), c) {
  auto job = table_job{"in.csv", c.text};
  job.options.bad_lines = on_bad_line::dead_letter;
  job.options.line_bytes_max = c.line_bytes_max;
  const auto ended = job.run();
  BOOST_REQUIRE(ended.has_value() == c.expected.empty());
  if (ended)
    BOOST_TEST(ended->bad_lines == 1U);
  else
    BOOST_TEST(has(ended.error().text, c.expected), ended.error().text);
  BOOST_TEST(job.runner.runs.size() == (c.expected.empty() ? 1U : 0U));
}

BOOST_AUTO_TEST_CASE(table_without_template_is_rejected_with_an_example) {
  auto job = table_job{"in.csv", "question\nx\n"};
  job.options.input_template.reset();
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, R"(has the columns "question", but the agent file)"));
}

BOOST_AUTO_TEST_CASE(missing_member_of_a_json_row_names_the_template) {
  auto job = table_job{"in.jsonl", R"({"id":"a","question":"x"})"
                                   "\n"
                                   R"({"id":"b","query":"x"})"};
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, R"(line 2: the row has no member "question", which )"
                                       "messages.0.content needs"));
}

BOOST_AUTO_TEST_CASE(quoted_record_across_read_blocks_stays_whole) {
  auto text = std::string{"id,question\n"};
  for (auto i = 0; i < 40; ++i)
    text += std::to_string(i) + ",\"" + std::string(10'007, static_cast<char>('a' + i % 26)) +
            "\n\"\"\n" + std::string(3'001, 'z') + "\"\n";
  auto job = table_job{"in.csv", text};
  BOOST_TEST(job.run().value().ok == 40U);
  BOOST_TEST(job.question_of("39") ==
             "Q: " + std::string(10'007, 'a' + 13) + "\n\"\n" + std::string(3'001, 'z'));
}

BOOST_AUTO_TEST_SUITE_END()
