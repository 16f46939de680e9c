// SPDX-License-Identifier: Apache-2.0
// superstep report, row and diff: read the output files of superstep run.
#include "base/error_words.hpp"
#include "base/visible_text.hpp"
#include "cli/commands.hpp"
#include "cli/file_start.hpp"
#include "cli/score.hpp"
#include "cli/usage.hpp"
#include "cli/written_file.hpp"
#include "results/compare.hpp"
#include "results/html_page.hpp"
#include "results/report.hpp"
#include "results/row_timeline.hpp"
#include "results/row_view.hpp"
#include "results/score_table.hpp"

#include <superstep/base/detail/distinct_files.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

struct report_arguments {
  std::string file;
  std::string output; // empty: no HTML file
  bool json = false;
  results::report_options options;
};

struct row_arguments {
  std::string file;
  std::string id;
  std::string events; // empty: no timeline
  bool json = false;
};

struct diff_arguments {
  std::string left;
  std::string right;
  std::string output;
  bool json = false;
  results::compare_options options;
};

int fail_verb(std::string_view verb, const std::string& text) {
  std::cerr << "superstep " << verb << ": " << text << '\n';
  return 1;
}

/// Whether the file may be overwritten: it does not exist, is empty, is an earlier report, or is a
/// device or a pipe.
bool is_report_or_new(const std::string& path) {
  const auto start = file_start(path, results::html_start.size());
  return start && (start->empty() || *start == results::html_start);
}

/// Fails if something else than a file, a device or a pipe has the path.
result<void> check_type(const std::string& path) {
  auto failed = std::error_code{};
  const auto found = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(found) || std::filesystem::is_regular_file(found) || is_stream(path))
    return {};
  return error{errc::invalid_argument,
               "--output: '" + path + "' is not a file; use the path of a file"};
}

/// Checks that the page can be written without damage to another file, before the files are read.
result<void> check_page(const std::string& path, std::vector<used_file> read) {
  if (path.empty())
    return {};
  if (auto checked = check_folder_of("--output", path); !checked)
    return checked;
  read.push_back({"--output", path, used_file::use::written});
  if (auto checked = check_distinct_files(read); !checked)
    return checked;
  if (auto checked = check_type(path); !checked)
    return checked;
  if (!is_report_or_new(path))
    return error{errc::invalid_argument, "'" + path +
                                             "' exists and is not a report of superstep; it is not "
                                             "overwritten. Use another file"};
  return {};
}

/// Returns the number of columns for tables: those of the terminal, else 100.
std::size_t columns() {
  constexpr auto by_default = std::size_t{100};
  auto size = winsize{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return by_default;
}

/// Says why a report or comparison has no scores of an output.
void note_outdated_scores(std::string_view verb, const std::string& output) {
  if (results::score_table::is_outdated(output))
    std::cerr
        << "superstep " << verb << ": " << output
        << " has changed since it was scored, so its scores are not shown; use superstep score\n";
}

/// Says that the last line of a file is not used.
void note_torn(std::string_view verb, const std::string& file) {
  std::cerr << "superstep " << verb << ": " << file
            << ": the last line is incomplete and is skipped\n";
}

int run_report(const report_arguments& given) {
  if (const auto checked =
          check_page(given.output, {{"the file", given.file, used_file::use::read}});
      !checked)
    return fail_verb("report", checked.error().text);
  const auto read = results::report::of_file(given.file, given.options);
  if (!read)
    return fail_verb("report", read.error().text);
  note_outdated_scores("report", given.file);
  if (!given.output.empty())
    if (const auto written = write_file(given.output, results::to_html(*read)); !written)
      return fail_verb("report", written.error().text);
  std::cout << (given.json ? superstep::to_text(results::to_json(*read)) : results::to_text(*read))
            << '\n';
  if (!given.output.empty() && !given.json)
    std::cout << "report in " << given.output << '\n';
  return 0;
}

/// Returns the end of the error for an unknown id: similar ids, or an example of an id.
std::string advice_about_ids(const std::string& file, const std::string& id) {
  const auto known = results::find_similar_ids(file, id);
  if (!known || known->first.empty())
    return {};
  if (known->similar.empty())
    return "; its first row has the id '" + visible_text(known->first) + "'";
  auto out = std::string{"; did you mean "};
  for (const auto& one : known->similar)
    out += (&one == &known->similar.front() ? "'" : ", '") + visible_text(one) + "'";
  return out + '?';
}

int run_row(const row_arguments& given) {
  const auto found = results::find_row(given.file, given.id);
  if (!found)
    return fail_verb("row", found.error().text);
  if (found->is_torn)
    note_torn("row", given.file);
  if (!found->line)
    return fail_verb("row", given.file + " has no row with the id '" + given.id + "'" +
                                advice_about_ids(given.file, given.id));
  if (given.json) {
    std::cout << *found->line << '\n';
    return 0;
  }
  const auto line = parse_json(*found->line);
  if (!line)
    return fail_verb("row", given.file + ": the line of the row cannot be shown (" +
                                line.error().text + "); --json prints it");
  std::cout << results::row_text(line->get_object()) << '\n';
  if (given.events.empty())
    return 0;
  const auto timeline = results::row_timeline(given.events, given.id);
  if (!timeline)
    return fail_verb("row", timeline.error().text);
  std::cout << '\n'
            << (timeline->empty() ? "the event log has no calls of this row" : *timeline) << '\n';
  return 0;
}

int run_diff(const diff_arguments& given) {
  using use = used_file::use;
  const auto checked = check_page(given.output, {{"the left file", given.left, use::read}});
  const auto also = check_page(given.output, {{"the right file", given.right, use::read}});
  for (const auto& one : {checked, also})
    if (!one)
      return fail_verb("diff", one.error().text);
  const auto print = [&](const results::row_pair& pair) {
    if (given.options.keeps_same || pair.match != results::row_match::same)
      std::cout << superstep::to_text(results::to_json(pair)) << '\n';
  };
  const auto compared = given.json ? results::compare(given.left, given.right, given.options, print)
                                   : results::compare(given.left, given.right, given.options);
  if (!compared)
    return fail_verb("diff", compared.error().text);
  for (const auto* path : {&given.left, &given.right})
    note_outdated_scores("diff", *path);
  for (const auto* side : {&compared->left, &compared->right})
    if (side->is_torn)
      note_torn("diff", side == &compared->left ? given.left : given.right);
  if (!given.output.empty())
    if (const auto written = write_file(given.output, results::to_html(*compared)); !written)
      return fail_verb("diff", written.error().text);
  std::cout << (given.json ? superstep::to_text(results::to_json(*compared))
                           : results::to_text(*compared, columns()))
            << '\n';
  if (!given.output.empty() && !given.json)
    std::cout << "report in " << given.output << '\n';
  return 0;
}

constexpr auto rows_shown_max = std::uint64_t{1'000'000};

} // namespace

void add_report(CLI::App& program, action& chosen) {
  auto given = std::make_shared<report_arguments>();
  auto& verb = *program.add_subcommand("report", "Show statistics of an output file of run");
  verb.add_option("FILE", given->file, "The output file")->required()->check(named_file());
  verb.add_option("-o,--output", given->output,
                  "Also write the report with charts to this HTML file")
      ->check(named_file());
  verb.add_flag("--json", given->json, "Print the report as a JSON object");
  add_number(verb, "--slowest", given->options.slowest_max, "Number of slowest rows to list", 0,
             10'000);
  add_number(verb, "--examples", given->options.examples_max,
             "Number of rows to list for each class of errors", 0, 10'000);
  verb.footer("Examples:\n  superstep report out.jsonl\n"
              "  superstep report out.jsonl --output report.html");
  verb.callback([given, &chosen] { chosen = [given] { return run_report(*given); }; });
}

void add_row(CLI::App& program, action& chosen) {
  auto given = std::make_shared<row_arguments>();
  auto& verb = *program.add_subcommand("row", "Show one row of an output file of run");
  verb.add_option("FILE", given->file, "The output file")->required()->check(named_file());
  verb.add_option("ID", given->id, "The id of the row")->required()->check(not_empty());
  verb.add_option("--events", given->events,
                  "Event log of the job (run --events), for a timeline of the calls")
      ->check(named_file());
  verb.add_flag("--json", given->json, "Print the line as it is in the file");
  verb.footer("Examples:\n  superstep row out.jsonl order-17\n"
              "  superstep row out.jsonl order-17 --events events.jsonl");
  verb.callback([given, &chosen] { chosen = [given] { return run_row(*given); }; });
}

void add_diff(CLI::App& program, action& chosen) {
  auto given = std::make_shared<diff_arguments>();
  auto& verb = *program.add_subcommand("diff", "Compare two output files of run row by row");
  verb.add_option("LEFT", given->left, "The first output file")->required()->check(named_file());
  verb.add_option("RIGHT", given->right, "The second output file")->required()->check(named_file());
  verb.add_option("-o,--output", given->output, "Also write the comparison to this HTML file")
      ->check(named_file());
  verb.add_flag("--json", given->json,
                "Print a JSON object for each row that differs, then one with the totals");
  verb.add_flag("--same", given->options.keeps_same, "Also list rows with the same answer");
  add_answer(verb, given->options.answer);
  add_number(verb, "--rows", given->options.rows_max, "Number of rows to list", 0, rows_shown_max);
  verb.footer("Examples:\n  superstep diff small.jsonl large.jsonl\n"
              "  superstep diff small.jsonl large.jsonl --rows 200 --output diff.html");
  verb.callback([given, &chosen] { chosen = [given] { return run_diff(*given); }; });
}

} // namespace superstep::cli
