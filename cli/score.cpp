// SPDX-License-Identifier: Apache-2.0
// superstep score, and the options --gold and --score of superstep run: compare answers with
// expected answers.
#include "cli/score.hpp"

#include "cli/commands.hpp"
#include "cli/interrupts.hpp"
#include "cli/run.hpp"
#include "cli/usage.hpp"
#include "cli/written_file.hpp"
#include "results/gold.hpp"
#include "results/job_file.hpp"
#include "results/judge.hpp"
#include "results/report.hpp"
#include "results/score.hpp"

#include <superstep/batch/batch.hpp>

#include <iostream>
#include <memory>
#include <utility>

#include <fcntl.h>

namespace superstep::cli {

namespace {

struct score_arguments {
  std::string output;
  gold_options gold;
};

/// Adds the member `score` to the summary beside the output, if there is a summary.
result<void> add_to_summary(const std::string& output, const results::score_summary& scored,
                            const gold_options& gold) {
  const auto path = results::job_file_of(output, ".summary.json");
  auto text = std::string{};
  constexpr auto bytes_max = std::size_t{1} << 20U;
  if (const auto opened = detail::file::open_regular(path, O_RDONLY);
      !opened || !opened->read_at(0, bytes_max, text))
    return {};
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object())
    return {};
  const auto share = results::mean_of(scored);
  auto& score = parsed->as_object()["score"].emplace_object();
  score["gold"] = gold.field;
  score["method"] = gold.judge.empty() ? gold.method : "judge";
  score["rows"] = scored.scored;
  score["mean"] = share.value;
  score["low"] = share.low;
  score["high"] = share.high;
  return detail::file::replace_content(path, to_text(*parsed) + '\n');
}

/// Returns the input and the output of the judge's job for the rows of an output.
batch_options judge_job_of(const std::string& output) {
  const auto stem = results::stem_of_scores(output);
  auto out = batch_options{};
  out.input = stem + ".judge.jsonl";
  out.output = stem + ".judged.jsonl";
  return out;
}

/// Runs the judge's job for the rows of an output, and scores them by its answers. The job resumes
/// that of an earlier call: answers that it has scored are not sent again.
result<results::score_summary> score_with_judge(const results::score_options& options,
                                                const gold_options& gold) {
  if (is_stop_requested())
    return error{errc::cancelled, "the job was stopped, so the judge does not run; " +
                                      score_command(options.output, gold) + " scores the rows"};
  auto job = run_arguments{};
  job.agent = gold.judge;
  job.progress = gold.progress;
  job.batch = judge_job_of(options.output);
  job.batch.follows_input = true;
  const auto rows = results::write_judge_rows(options, job.batch.input);
  if (!rows)
    return rows.error();
  if (*rows == 0)
    return error{errc::not_found, "no row of " + options.output +
                                      " has succeeded and has an expected answer in '" +
                                      options.field + "'"};
  std::cout << "== judge " << gold.judge << std::endl;
  const auto code = exit_code{run_job(job).code};
  if (code != exit_code::ok && code != exit_code::dead_rows)
    return error{code == exit_code::drained    ? errc::cancelled
                 : code == exit_code::shortage ? errc::shortage
                                               : errc::io_failed,
                 "the judge has not scored all rows; rerun superstep score to resume it"};
  return results::score_judged(options, job.batch.output);
}

/// Checks all files before one is written, and scores the rows.
result<std::string> checked_score(const score_arguments& given) {
  auto files = std::vector<used_file>{{"FILE", given.output, used_file::use::read}};
  add_score_files(files, given.output, given.gold);
  if (const auto checked = check_distinct_files(files); !checked)
    return checked.error();
  return score_output(given.output, given.gold);
}

int run_score(score_arguments& given) {
  install_interrupts(); // an interrupt must not leave a temporary file
  share_pipe(given.gold);
  const auto text = checked_score(given);
  if (!text) {
    std::cerr << "superstep score: " << text.error().text << '\n';
    return static_cast<int>(code_of_scores(text.error().code));
  }
  std::cout << *text << '\n';
  return 0;
}

} // namespace

void share_pipe(gold_options& gold) {
  if (!gold.files && is_stream(gold.file))
    gold.files = std::make_shared<results::gold_files>();
}

void add_delimiter(CLI::App& verb, char& into) {
  const auto set = [&into](const std::string& text) {
    into = text == "tab" || text == "\\t" ? '\t' : text.front();
  };
  verb.add_option_function<std::string>(
          "--delimiter", set, "Separator of the fields of CSV files; tab for a tab; default: ,")
      ->check(CLI::Validator{[](const std::string& text) {
                               const auto is_usable = text.size() == 1 && text[0] > ' ' &&
                                                      text[0] <= '~' && text[0] != '"';
                               return is_usable || text == " " || text == "tab" || text == "\\t" ||
                                              text == "\t"
                                          ? std::string{}
                                          : "must be one ASCII character except \", or tab";
                             },
                             ""})
      ->type_name("CHAR");
}

void add_answer(CLI::App& verb, std::string& into) {
  verb.add_option("--answer", into,
                  "Member of the structured response, or field of the output, that is compared; "
                  "default: the whole answer")
      ->type_name("FIELD")
      ->check(not_empty());
}

void add_gold_options(CLI::App& verb, gold_options& into) {
  auto* const gold =
      verb.add_option(
              "--gold", into.field,
              "Column of the input with the expected answer, such as label or metadata.answer; "
              "scores the answers")
          ->check(not_empty());
  verb.add_option(
          "--gold-file", into.file,
          "File with the expected answers by row id: JSONL, CSV or TSV, also compressed with gzip; "
          "default: the columns of the input")
      ->check(named_file());
  add_answer(verb, into.answer);
  verb.add_option("--score", into.method, "How answers are compared with expected answers")
      ->check(one_of(results::score_method_names()))
      ->needs(gold)
      ->capture_default_str();
  verb.add_option(
          "--judge", into.judge,
          "Agent file of a judge, a model that scores each answer from 0 to 1. Its template "
          "uses {{question}}, {{answer}}, {{gold}} and {{columns.NAME}}")
      ->check(named_file())
      ->excludes("--score");
}

results::score_options score_options_of(const std::string& output, const gold_options& gold) {
  auto options = results::score_options{};
  options.output = output;
  options.gold_file = gold.file;
  options.field = gold.field;
  options.answer = gold.answer;
  options.judge = gold.judge;
  options.method = *results::score_method_of(gold.method);
  options.input = gold.input;
  options.input_as = gold.input_as;
  options.id_field = gold.id_field;
  options.delimiter = gold.delimiter;
  options.line_bytes_max = gold.line_bytes_max;
  options.files = gold.files;
  return options;
}

std::string score_command(const std::string& rows, const gold_options& gold) {
  auto out = "superstep score " + rows + " --gold " + gold.field;
  if (!gold.file.empty())
    out += " --gold-file " + gold.file;
  if (!gold.file.empty() && !gold.id_field.empty())
    out += " --id-field " + gold.id_field;
  if (!gold.answer.empty())
    out += " --answer " + gold.answer;
  return out + (gold.judge.empty() ? " --score " + gold.method : " --judge " + gold.judge);
}

void add_score_files(std::vector<used_file>& into, const std::string& output,
                     const gold_options& gold) {
  using use = used_file::use;
  into.push_back({"--gold-file", gold.file, use::read});
  into.push_back({"the scores", results::scores_path_of(output), use::written});
  if (gold.judge.empty())
    return;
  auto job = judge_job_of(output);
  into.push_back({"--judge", gold.judge, use::read});
  into.push_back({"the rows of the judge", job.input, use::written});
  for (auto& written : paths_written_by(job))
    into.push_back({written.what + " of the judge", std::move(written.path), use::written});
}

result<void> check_replaced_files(const std::string& output, const gold_options& gold) {
  if (auto checked = results::check_replaced_scores(results::scores_path_of(output)); !checked)
    return checked;
  return gold.judge.empty() ? result<void>{}
                            : results::check_replaced_judge_rows(judge_job_of(output).input);
}

exit_code code_of_scores(std::error_code failed) noexcept {
  if (failed == errc::cancelled)
    return exit_code::drained;
  return is_shortage(failed) ? exit_code::shortage : exit_code::failed;
}

result<std::string> score_output(const std::string& output, const gold_options& gold) {
  auto options = score_options_of(output, gold);
  // The rows of a job that was asked to stop are scored. Another request stops the scoring.
  options.is_cancelled = [before = interrupts().current()] {
    const auto now = interrupts().current();
    return now > before || now == stop_request::abort;
  };
  const auto scored =
      gold.judge.empty() ? results::score_file(options) : score_with_judge(options, gold);
  if (!scored)
    return scored.error();
  if (const auto added = add_to_summary(output, *scored, gold); !added)
    return added.error();
  return results::to_text(*scored);
}

void add_score(CLI::App& program, action& chosen) {
  auto given = std::make_shared<score_arguments>();
  auto& verb = *program.add_subcommand("score", "Compare the answers of run with expected answers");
  verb.add_option("FILE", given->output, "The output file")->required()->check(named_file());
  add_gold_options(verb, given->gold);
  verb.get_option("--gold")->required();
  verb.add_option("--id-field", given->gold.id_field,
                  "Member or column of the --gold-file with the row's id; default: id or custom_id")
      ->check(not_empty());
  add_delimiter(verb, given->gold.delimiter);
  verb.footer("Example:\n  superstep score out.jsonl --gold label --score exact");
  verb.callback([given, &chosen] { chosen = [given] { return run_score(*given); }; });
}

} // namespace superstep::cli
