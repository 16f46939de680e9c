// SPDX-License-Identifier: Apache-2.0
// Outputs that are derived from the rows file: --fields, CSV and --order input.
#include "batch/journal.hpp"
#include "batch/row_fields.hpp"
#include "job_fixture.hpp"
#include "support/file_size_limit.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>

#include <sys/stat.h>

BOOST_AUTO_TEST_SUITE(view)

namespace {

using namespace superstep;
using namespace superstep::detail;
using namespace superstep::testing;

constexpr auto rows = 20;

/// Ends all rows of an input in reverse order, when the last one is submitted.
class reversing_runner final : public row_runner {
public:
  explicit reversing_runner(std::size_t count) : count_{count} {}
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    ++runs;
    held_.emplace_back(std::move(request), std::move(done));
    if (held_.size() == count_)
      while (!held_.empty()) {
        auto [last, end] = std::move(held_.back());
        held_.pop_back();
        end(echo(last));
      }
    return std::make_unique<no_handle>();
  }

  std::size_t runs = 0;

private:
  std::size_t count_;
  std::vector<std::pair<row_request, done_function>> held_;
};

/// A job with the output out.csv or out.jsonl and the field `answer`.
std::unique_ptr<job> view_job(row_order order, std::string_view name = "out.csv") {
  auto out = std::make_unique<job>(chat_lines(rows));
  out->options.output = out->folder / name;
  out->options.format = name.ends_with(".csv") ? output_format::csv : output_format::jsonl;
  out->options.fields = {"answer"};
  out->options.order = order;
  return out;
}

std::string expected_csv(int count = rows) {
  auto out = std::string{"\"id\",\"answer\"\n"};
  for (auto i = 0; i < count; ++i) {
    const auto text = i % 7 == 6 ? std::string{"fail"} : "hi " + std::to_string(i);
    out += "\"row-" + std::to_string(i) + "\",\"echo " + text + "\"\n";
  }
  return out;
}

std::string sorted(const std::string& text) {
  auto lines = std::vector<std::string>{};
  auto in = std::istringstream{text};
  for (auto line = std::string{}; std::getline(in, line);)
    lines.push_back(line);
  std::ranges::sort(lines);
  auto out = std::string{};
  for (const auto& line : lines)
    out += line + '\n';
  return out;
}

result<batch_summary> run_reversed(job& given, std::size_t left = rows) {
  auto runner = reversing_runner{left};
  return run_batch(given.options, runner, given.progress, given.stop);
}

std::string written(const std::vector<std::string>& fields, output_format format,
                    std::string_view line, const std::vector<std::string>& response = {},
                    const std::vector<std::string>& input = {}) {
  auto columns = columns_of(fields, format, response, input);
  BOOST_TEST_REQUIRE(columns.has_value());
  auto writer = field_writer{*std::move(columns), format};
  auto out = std::string{};
  writer.append_header(out);
  BOOST_TEST_REQUIRE(writer.append_row(out, line).has_value());
  return out;
}

constexpr auto native_line = std::string_view{
    R"({"id":"a","status":"ok","output":{"messages":[{"type":"human","content":"q"},)"
    R"({"type":"ai","content":[{"type":"text","text":"say \"x\",\n"},{"type":"image"},)"
    R"({"type":"text","text":"y"}]},{"type":"tool","content":"t"}],)"
    R"("structured_response":{"label":"good","score":0.5,"status":true,"tags":["n"]}},)"
    R"("error":null,"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5},"cost":null,)"
    R"("steps":1})"};

} // namespace

BOOST_AUTO_TEST_CASE(fields_become_members_of_json_lines) {
  BOOST_TEST(written({"answer", "usage", "cost", "response"}, output_format::jsonl, native_line,
                     {"label", "score", "status", "missing"}) ==
             R"({"id":"a","answer":"say \"x\",\ny","usage":{"input_tokens":3,"output_tokens":2,)"
             R"("total_tokens":5},"cost":null,"label":"good","score":0.5,)"
             R"("response.status":true,"missing":null})"
             "\n");
}

/// Without the longer forms, the header would not show whether `label` is the expected label of the
/// input or the one that the model gave.
BOOST_AUTO_TEST_CASE(response_member_and_column_with_same_name_differ) {
  constexpr auto line = std::string_view{
      R"({"id":"a","status":"ok","output":{"messages":[{"type":"ai","content":"x"}],)"
      R"("structured_response":{"label":"good","score":1}},"columns":{"label":"bad","n":"7"}})"};
  const auto response = std::vector<std::string>{"label", "score"};
  const auto input = std::vector<std::string>{"label", "n"};
  BOOST_TEST(written({"response", "label", "n"}, output_format::csv, line, response, input) ==
             "\"id\",\"response.label\",\"score\",\"columns.label\",\"n\"\n"
             "\"a\",\"good\",1,\"bad\",\"7\"\n");
  BOOST_TEST(written({"response.label", "columns.label"}, output_format::jsonl, line, response,
                     input) == R"({"id":"a","response.label":"good","columns.label":"bad"})"
                               "\n");
}

BOOST_AUTO_TEST_CASE(unknown_field_names_member_of_response) {
  const auto response = std::vector<std::string>{"label", "score"};
  const auto fails_with = [&](const std::string& field, std::string_view text) {
    const auto columns = columns_of({field}, output_format::jsonl, response, {});
    return columns.has_error() && columns.error().text.find(text) != std::string::npos;
  };
  BOOST_TEST(fails_with("label", "did you mean 'response.label'?"));
  BOOST_TEST(fails_with("response.lable", "did you mean 'response.label'?"));
  BOOST_TEST(fails_with("anser", "did you mean 'answer'?"));
  BOOST_TEST(fails_with("colour", "unknown field \"colour\"; known fields: id, answer, "));
}

BOOST_AUTO_TEST_CASE(csv_quotes_texts_and_expands_objects) {
  BOOST_TEST(written({"id", "answer", "usage", "response", "error.code"}, output_format::csv,
                     native_line, {"score", "status", "tags"}) ==
             "\"id\",\"answer\",\"usage.input_tokens\",\"usage.output_tokens\","
             "\"usage.total_tokens\",\"score\",\"response.status\",\"tags\",\"error.code\"\n"
             "\"a\",\"say \"\"x\"\",\ny\",3,2,5,0.5,true,\"[\"\"n\"\"]\",\n");
}

BOOST_AUTO_TEST_CASE(costs_have_no_exponent) {
  constexpr auto line = std::string_view{R"({"id":"a","status":"ok","cost":0.0000193})"};
  BOOST_TEST(written({"cost"}, output_format::csv, line) == "\"id\",\"cost\"\n\"a\",0.0000193\n");
  BOOST_TEST(written({"cost"}, output_format::jsonl, line) ==
             "{\"id\":\"a\",\"cost\":0.0000193}\n");
}

BOOST_AUTO_TEST_CASE(batch_requests_have_the_same_fields) {
  const auto fields = std::vector<std::string>{"status", "answer", "usage.input_tokens",
                                               "error.code", "error.http_status"};
  BOOST_TEST(written(fields, output_format::csv,
                     R"({"custom_id":"a","response":{"status_code":200,"body":{"choices":[)"
                     R"({"message":{"content":"yes"}}],"usage":{"prompt_tokens":4}}},)"
                     R"("error":null})")
                 .ends_with("\n\"a\",\"ok\",\"yes\",4,,\n"));
  BOOST_TEST(written(fields, output_format::csv,
                     R"({"custom_id":"a","response":{"status_code":429,"body":{"error":)"
                     R"({"message":"m","type":"model_error","code":"rate_limited"}}},)"
                     R"("error":null})")
                 .ends_with("\n\"a\",\"error\",,,\"rate_limited\",429\n"));
  BOOST_TEST(written(fields, output_format::csv,
                     R"({"custom_id":"a","response":null,"error":{"code":"timed_out",)"
                     R"("message":"m"}})")
                 .ends_with("\n\"a\",\"error\",,,\"timed_out\",\n"));
}

BOOST_AUTO_TEST_CASE(unknown_or_repeated_field_is_rejected) {
  for (const auto& fields :
       std::vector<std::vector<std::string>>{{"answers"}, {"answer", "answer"}, {"response"}}) {
    auto job = view_job(row_order::completion);
    job->options.fields = fields;
    auto refused = job->run();
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().text.find("--fields: ") != std::string::npos);
    BOOST_TEST(!std::filesystem::exists(job->folder / "out.journal"));
  }
}

BOOST_AUTO_TEST_CASE(rows_that_end_in_reverse_keep_order_of_input) {
  auto job = view_job(row_order::input);
  BOOST_TEST(run_reversed(*job).has_value());
  BOOST_TEST(job->file("out.csv") == expected_csv());
  auto other = view_job(row_order::completion);
  BOOST_TEST(run_reversed(*other).has_value());
  BOOST_TEST(other->file("out.csv") != expected_csv());
  BOOST_TEST(sorted(other->file("out.csv")) == sorted(expected_csv()));
}

BOOST_AUTO_TEST_CASE(input_order_without_fields_writes_whole_lines) {
  auto job = view_job(row_order::input, "out.jsonl");
  job->options.fields.clear();
  BOOST_TEST(run_reversed(*job).has_value());
  const auto lines = job->file("out.jsonl");
  BOOST_TEST(lines.starts_with(R"({"custom_id":"row-0","status":"ok","output")"));
  BOOST_TEST(lines != job->file("out.rows.jsonl"));
  BOOST_TEST(sorted(lines) == sorted(job->file("out.rows.jsonl")));
}

BOOST_AUTO_TEST_CASE(limited_job_writes_its_rows_and_resumes) {
  for (const auto order : {row_order::input, row_order::completion}) {
    auto job = view_job(order);
    job->options.limit = 5;
    BOOST_TEST(job->run().has_value());
    BOOST_TEST(job->file("out.csv") == expected_csv(5));
    job->options.limit.reset();
    BOOST_TEST(job->run().has_value());
    BOOST_TEST(job->runner.runs.size() == std::size_t{rows});
    BOOST_TEST(job->file("out.csv") == expected_csv());
  }
}

BOOST_AUTO_TEST_CASE(lower_limit_keeps_order_of_input) {
  auto job = view_job(row_order::completion);
  BOOST_TEST(run_reversed(*job).has_value());
  BOOST_TEST(job->file("out.csv") != expected_csv());
  job->options.order = row_order::input;
  for (const auto limit : {1U, 5U, 20U}) {
    job->options.limit = limit;
    BOOST_TEST(job->run().has_value());
    BOOST_TEST(job->file("out.csv") == expected_csv(), limit);
    std::filesystem::remove(job->folder / "out.csv");
  }
  BOOST_TEST(job->runner.runs.empty());
}

// Rows behind the one at which the job stops have been finished before.
BOOST_AUTO_TEST_CASE(stopped_job_keeps_order_of_input) {
  auto job = view_job(row_order::completion);
  const auto before = run_reversed(*job);
  BOOST_REQUIRE(before.has_value());
  write_file(job->folder / "in.jsonl",
             chat_line("new", "hi") + chat_line("left", "ho") + job->file("in.jsonl"));
  job->options.order = row_order::input;
  job->options.force = true;
  job->options.concurrency = 1;
  job->options.rules.budget_tokens = before->total_tokens + 1;
  const auto stopped = job->run();
  BOOST_REQUIRE_MESSAGE(stopped.has_value(), stopped.error().text);
  BOOST_TEST((stopped->code == exit_code::drained));
  BOOST_TEST(job->runner.runs.size() == 1U);
  auto expected = expected_csv();
  expected.insert(expected.find('\n') + 1, "\"new\",\"echo hi\"\n");
  BOOST_TEST(job->file("out.csv") == expected);
}

BOOST_AUTO_TEST_CASE(finished_job_gets_other_fields_without_running) {
  auto job = view_job(row_order::input);
  BOOST_TEST(job->run().has_value());
  job->runner.runs.clear();
  BOOST_TEST(job->run().value().already_finished);
  job->options.fields = {"status"};
  BOOST_TEST(job->run().value().already_finished);
  BOOST_TEST(job->file("out.csv").starts_with("\"id\",\"status\"\n\"row-0\",\"ok\"\n"));
  job->options.fields = {"answer"};
  BOOST_TEST(job->run().value().already_finished);
  BOOST_TEST(job->file("out.csv") == expected_csv());
  BOOST_TEST(job->runner.runs.empty());
  BOOST_TEST(!std::filesystem::exists(job->folder / "out.csv.old-1"));
}

BOOST_AUTO_TEST_CASE(csv_is_derived_from_rows_of_plain_job) {
  auto job = view_job(row_order::input);
  auto plain = job->options;
  plain.output = job->folder / "out.jsonl";
  plain.format = output_format::jsonl;
  plain.fields.clear();
  plain.order = row_order::completion;
  auto runner = reversing_runner{rows};
  BOOST_TEST(run_batch(plain, runner, job->progress, job->stop).has_value());
  const auto lines = job->file("out.jsonl");
  auto derived = job->run();
  BOOST_REQUIRE_MESSAGE(derived.has_value(), derived.error().text);
  BOOST_TEST(job->runner.runs.empty());
  BOOST_TEST(job->file("out.csv") == expected_csv());
  BOOST_TEST(job->file("out.jsonl") == lines);
  job->options.output = plain.output; // would replace the only copy of the rows
  job->options.format = output_format::jsonl;
  BOOST_TEST(!job->run().has_value());
  BOOST_TEST(job->file("out.jsonl") == lines);
}

BOOST_AUTO_TEST_CASE(job_with_rows_file_is_not_resumed_as_plain_job) {
  auto job = view_job(row_order::completion, "out.jsonl");
  BOOST_TEST(job->run().has_value());
  const auto before = job->file("out.jsonl");
  job->options.fields.clear();
  auto refused = job->run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text.find("--fields") != std::string::npos);
  BOOST_TEST(job->file("out.jsonl") == before);
}

BOOST_AUTO_TEST_CASE(output_of_user_is_never_replaced) {
  auto fresh = view_job(row_order::input);
  write_file(fresh->folder / "out.csv", "mine\n");
  BOOST_TEST(!fresh->run().has_value());
  BOOST_TEST(fresh->file("out.csv") == "mine\n");
  for (const auto order : {row_order::input, row_order::completion})
    for (const auto replaces : {false, true}) {
      auto job = view_job(order);
      BOOST_TEST(job->run().has_value());
      const auto mine = job->file("out.csv") + "mine\n";
      if (replaces) // as many editors do
        std::filesystem::rename(job->folder / "out.csv", job->folder / "moved");
      write_file(job->folder / "out.csv", mine);
      BOOST_TEST(job->run().has_value());
      BOOST_TEST(job->file("out.csv") == expected_csv());
      BOOST_TEST(job->file("out.csv.old-1") == mine);
    }
}

BOOST_AUTO_TEST_CASE(fresh_moves_rows_file_and_output_aside) {
  auto job = view_job(row_order::input);
  BOOST_TEST(job->run().has_value());
  const auto lines = job->file("out.rows.jsonl");
  job->options.fresh = true;
  BOOST_TEST(job->run().has_value());
  BOOST_TEST(job->file("out.csv.old-1") == expected_csv());
  BOOST_TEST(job->file("out.rows.jsonl.old-1") == lines);
  BOOST_TEST(job->file("out.csv") == expected_csv());
}

// The output is larger than the rows file here, so the limit is reached in the output first.
BOOST_AUTO_TEST_CASE(full_disk_stops_job_and_output_is_written_again) {
  for (const auto order : {row_order::input, row_order::completion}) {
    auto job = view_job(order, "out.jsonl");
    job->options.fields = {"messages", "output", "answer", "status",      "usage",
                           "error",    "cost",   "steps",  "model_calls", "tool_calls"};
    auto whole = view_job(order, "out.jsonl");
    whole->options.fields = job->options.fields;
    BOOST_TEST(whole->run().has_value());
    const auto rows_size = std::filesystem::file_size(whole->folder / "out.rows.jsonl");
    const auto size = whole->file("out.jsonl").size();
    BOOST_TEST_REQUIRE(size > rows_size + 100);
    {
      const auto limit = file_size_limit{rows_size + 50};
      auto failed = job->run();
      BOOST_REQUIRE(!failed.has_value());
      BOOST_TEST(is_shortage(failed.error().code));
      BOOST_TEST(failed.error().text.find("out.jsonl: ") != std::string::npos, failed.error().text);
    }
    const auto done = rows_of(job->file("out.rows.jsonl"));
    job->runner.runs.clear();
    BOOST_TEST(job->run().has_value());
    for (const auto& [key, row] : done)
      BOOST_TEST(job->runner.runs.count(key) == 0U, key);
    BOOST_TEST(sorted(job->file("out.jsonl")) == sorted(whole->file("out.jsonl")));
    BOOST_TEST(!std::filesystem::exists(job->folder / "out.jsonl.old-1"));
  }
}

namespace {

using snapshot = std::map<std::string, std::string>;

snapshot take(const job& from) {
  auto out = snapshot{};
  for (const auto* name : {"out.csv", "out.rows.jsonl", "out.dead.jsonl", "out.journal"})
    if (std::filesystem::exists(from.folder / name))
      out[name] = from.file(name);
  return out;
}

/// Every state of the files while the rows end in the given order.
std::vector<snapshot> all_moments(row_order order, bool is_reversed) {
  auto whole = view_job(order);
  auto out = std::vector<snapshot>{};
  whole->options.on_disk_step = [&](std::string_view) { out.push_back(take(*whole)); };
  BOOST_TEST((is_reversed ? run_reversed(*whole) : whole->run()).has_value());
  return out;
}

void resume_and_compare(const snapshot& crashed, row_order order) {
  auto resumed = view_job(order);
  for (const auto& [name, bytes] : crashed)
    write_file(resumed->folder / name, bytes);
  const auto finished = crashed.contains("out.rows.jsonl")
                            ? rows_of(crashed.at("out.rows.jsonl")
                                          .substr(0, crashed.at("out.rows.jsonl").rfind('\n') + 1))
                            : std::map<std::string, json::object>{};
  auto summary = resumed->run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(summary->left() == 0U);
  const auto text = resumed->file("out.csv");
  BOOST_TEST((order == row_order::input ? text : sorted(text)) ==
             (order == row_order::input ? expected_csv() : sorted(expected_csv())));
  BOOST_TEST(rows_of(resumed->file("out.rows.jsonl")).size() == std::size_t{rows});
  if (!crashed.contains("out.dead.jsonl")) // a failed row also needs its dead letter
    return;
  for (const auto& [key, row] : finished)
    BOOST_TEST(resumed->runner.runs.count(key) == 0U, key << " had finished and ran again");
}

/// Returns a journal whose records of the output have the inode of a copy.
std::string with_inode(const std::string& journal, std::uint64_t inode) {
  auto out = std::string{};
  auto in = std::istringstream{journal};
  for (auto line = std::string{}; std::getline(in, line);) {
    const auto fields = parse_json(line.substr(std::min(line.size(), std::size_t{9})));
    if (fields && fields->at(0) == "view")
      append_view(out, inode, fields->at(2).to_number<std::uint64_t>(),
                  std::string{fields->at(3).as_string()});
    else
      out += line + '\n';
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(job_killed_at_any_write_resumes_to_same_output) {
  for (const auto order : {row_order::input, row_order::completion})
    for (const auto is_reversed : {false, true}) {
      const auto moments = all_moments(order, is_reversed);
      BOOST_TEST(moments.size() >= 8U);
      for (const auto& moment : moments)
        resume_and_compare(moment, order);
    }
}

BOOST_AUTO_TEST_CASE(torn_output_is_written_again_on_resume) {
  for (const auto order : {row_order::input, row_order::completion}) {
    const auto whole = all_moments(order, false).back();
    for (const auto* name : {"out.csv", "out.journal"}) {
      const auto size = whole.at(name).size();
      constexpr auto header_bytes = std::size_t{1000};
      for (auto cut = std::size_t{1}; cut < size - std::min(size, header_bytes); cut += 97) {
        auto torn = whole;
        torn[name].resize(size - cut);
        resume_and_compare(torn, order);
      }
    }
  }
}

namespace {

/// Calls a function before a row ends.
class disturbed_runner final : public row_runner {
public:
  disturbed_runner(int row, std::function<void()> disturb)
      : row_{row}, disturb_{std::move(disturb)} {}
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    if (++rows_ == row_)
      disturb_();
    done(echo(request));
    return std::make_unique<no_handle>();
  }

private:
  int row_;
  int rows_ = 0;
  std::function<void()> disturb_;
};

} // namespace

BOOST_AUTO_TEST_CASE(output_changed_while_job_runs_is_an_error) {
  namespace fs = std::filesystem;
  for (const auto order : {row_order::input, row_order::completion})
    for (const auto row : {2, rows})
      for (const auto* change : {"remove", "replace", "append", "cut"}) {
        auto job = view_job(order);
        const auto path = job->folder / "out.csv";
        auto runner = disturbed_runner{row, [&] {
                                         if (change == std::string_view{"remove"}) {
                                           fs::remove(path);
                                         } else if (change == std::string_view{"replace"}) {
                                           fs::rename(path, job->folder / "moved");
                                           write_file(path, "mine\n");
                                         } else if (change == std::string_view{"append"}) {
                                           std::ofstream{path, std::ios::app} << "mine\n";
                                         } else {
                                           write_file(path, "");
                                         }
                                       }};
        BOOST_TEST_CONTEXT(change << " at row " << row) {
          const auto stopped = run_batch(job->options, runner, job->progress, job->stop);
          BOOST_REQUIRE(!stopped.has_value());
          BOOST_TEST(stopped.error().text.find("out.csv was removed, replaced or changed") !=
                         std::string::npos,
                     stopped.error().text);
          const auto theirs = fs::exists(path) ? job->file("out.csv") : "";
          BOOST_TEST(job->run().value().left() == 0U);
          BOOST_TEST(job->file("out.csv") == expected_csv());
          if (change == std::string_view{"replace"} || change == std::string_view{"append"})
            BOOST_TEST(job->file("out.csv.old-1") == theirs);
        }
      }
}

// The journal then only has records of writes that have started.
BOOST_AUTO_TEST_CASE(output_changed_after_a_crash_is_kept) {
  for (const auto order : {row_order::input, row_order::completion}) {
    const auto moments = all_moments(order, false);
    for (const auto& moment : moments) {
      if (!moment.contains("out.csv") || moment.at("out.csv").empty())
        continue;
      for (const auto& theirs : {moment.at("out.csv") + "mine\n", std::string{"mine\n"}}) {
        auto job = view_job(order);
        for (const auto& [name, bytes] : moment)
          write_file(job->folder / name, bytes);
        struct ::stat info {};
        BOOST_TEST_REQUIRE(::stat((job->folder / "out.csv").c_str(), &info) == 0);
        write_file(job->folder / "out.journal", with_inode(moment.at("out.journal"), info.st_ino));
        BOOST_TEST(job->run().has_value());
        BOOST_TEST(!std::filesystem::exists(job->folder / "out.csv.old-1"));

        auto changed = view_job(order);
        for (const auto& [name, bytes] : moment)
          write_file(changed->folder / name, bytes);
        write_file(changed->folder / "out.csv", theirs);
        BOOST_TEST_REQUIRE(::stat((changed->folder / "out.csv").c_str(), &info) == 0);
        write_file(changed->folder / "out.journal",
                   with_inode(moment.at("out.journal"), info.st_ino));
        BOOST_TEST(changed->run().has_value());
        BOOST_TEST(changed->file("out.csv") == expected_csv());
        BOOST_TEST(changed->file("out.csv.old-1") == theirs);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
