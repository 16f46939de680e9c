// SPDX-License-Identifier: Apache-2.0
// superstep run --matrix: one job for each combination of values, and a table that compares them.
#include "cli/matrix.hpp"

#include "base/error_words.hpp"
#include "batch/usd_text.hpp"
#include "cli/path_suffix.hpp"
#include "results/report.hpp"

#include <superstep/base/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <span>

namespace superstep::cli {

namespace {

constexpr auto combinations_max = std::size_t{1'000};

/// Longest value in the name of a file.
constexpr auto name_bytes_max = std::size_t{40};

struct matrix_key {
  std::string key;
  std::vector<std::string> values;
};

error wrong_matrix(const std::string& word, const std::string& why) {
  return {errc::invalid_argument, "--matrix: '" + word + "': " + why +
                                      "; the form is KEY=VALUE,VALUE, such as model=small,large"};
}

result<matrix_key> read_key(const std::string& word) {
  const auto equal = word.find('=');
  if (equal == std::string::npos || equal == 0)
    return wrong_matrix(word, "has no key");
  auto out = matrix_key{word.substr(0, equal), {}};
  auto rest = word.substr(equal + 1) + ',';
  for (auto comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    auto value = rest.substr(0, comma);
    rest.erase(0, comma + 1);
    if (value.empty())
      return wrong_matrix(word, "has an empty value");
    if (std::ranges::find(out.values, value) != out.values.end())
      return wrong_matrix(word, "has the value '" + value + "' twice");
    out.values.push_back(std::move(value));
  }
  return out;
}

/// Returns a value as part of a file name.
std::string in_file_name(const std::string& value) {
  auto out = value.starts_with('@') ? value.substr(value.find_last_of("/@") + 1) : value;
  if (const auto dot = out.rfind('.');
      value.starts_with('@') && dot != std::string::npos && dot > 0)
    out.resize(dot);
  out.resize(std::min(out.size(), name_bytes_max));
  std::ranges::replace_if(
      out,
      [](char c) {
        return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' &&
               c != '_' && c != '.';
      },
      '_');
  // Dots separate the parts of the name, so a value has none at its ends.
  const auto first = out.find_first_not_of('.');
  return first == out.npos ? "_" : out.substr(first, out.find_last_not_of('.') - first + 1);
}

/// Returns the override for a value of a key, in the form of --set.
result<std::string> override_of(const std::string& key, const std::string& value) {
  if (key != "prompt" || !value.starts_with('@'))
    return (key == "model" ? std::string{"model.model"} : key) + '=' + value;
  const auto path = value.substr(1);
  auto failed = std::error_code{};
  auto in = std::ifstream{path, std::ios::binary};
  if (!in || std::filesystem::is_directory(path, failed))
    return error{errc::io_failed, "--matrix: the prompt " + path + " cannot be read"};
  const auto text = std::string{std::istreambuf_iterator<char>{in}, {}};
  auto quoted = std::string{};
  append_quoted(quoted, text); // a JSON text is also YAML
  return key + '=' + quoted;
}

/// Appends all combinations of the keys from `at` to `out`.
result<void> combine(const std::vector<matrix_key>& keys, std::size_t at, const matrix_job& so_far,
                     const std::string& suffix, std::vector<matrix_job>& out) {
  if (at == keys.size()) {
    out.push_back(so_far);
    out.back().output = with_suffix(so_far.output, suffix);
    return {};
  }
  for (const auto& value : keys[at].values) {
    auto job = so_far;
    job.name += (job.name.empty() ? "" : " ") + keys[at].key + '=' + value;
    auto changed = override_of(keys[at].key, value);
    if (!changed)
      return changed.error();
    job.overrides.push_back(*std::move(changed));
    if (auto added = combine(keys, at + 1, job, suffix + '.' + in_file_name(value), out); !added)
      return added;
  }
  return {};
}

/// Prints which jobs are left after one has stopped. The first of them may have rows that are done.
void list_left(std::span<const matrix_job> left, std::size_t all) {
  constexpr auto shown_max = std::size_t{10};
  std::cerr << "superstep run: --matrix: " << left.size() << " of " << counted(all, "combination")
            << (left.size() == 1 ? " is" : " are")
            << " left; rerun the same command, without --fresh, to continue:\n";
  for (const auto& job : left.first(std::min(left.size(), shown_max)))
    std::cerr << "  " << job.name << '\n';
  if (left.size() > shown_max)
    std::cerr << "  and " << left.size() - shown_max << " more\n";
}

std::string table_line(const std::string& name, const results::report& r) {
  const auto score = r.score();
  const auto known = [](bool is_known, auto number) {
    return is_known ? std::to_string(number) : std::string{"-"};
  };
  const auto has_tokens = r.tokens.count() > 0;
  const auto latency = [&](double share) {
    return r.latency.count() > 0
               ? fmt::format("{:.1f}", results::in_ms(r.latency.percentile(share)))
               : std::string{"-"};
  };
  const auto has_status = r.unknown == 0;
  return fmt::format("{:<40} {:>7} {:>7} {:>16} {:>9} {:>9} {:>11} {:>11} {:>11}\n", name,
                     known(has_status, r.ok), known(has_status, r.failed),
                     r.rows_scored > 0 ? fmt::format("{:.1f} ({:.1f}-{:.1f})", 100 * score.value,
                                                     100 * score.low, 100 * score.high)
                                       : std::string{"-"},
                     latency(0.5), latency(0.95), known(has_tokens, r.input_tokens),
                     known(has_tokens, r.output_tokens),
                     r.rows_priced > 0 ? detail::usd_text(r.cost) : std::string{"-"});
}

} // namespace

result<std::vector<matrix_job>> matrix_of(const std::vector<std::string>& given,
                                          const std::string& output) {
  auto keys = std::vector<matrix_key>{};
  auto count = std::size_t{1};
  for (const auto& word : given) {
    auto key = read_key(word);
    if (!key)
      return key.error();
    if (std::ranges::find(keys, key->key, &matrix_key::key) != keys.end())
      return wrong_matrix(word, "the key '" + key->key + "' is specified twice");
    count *= std::min(key->values.size(), combinations_max + 1);
    if (count > combinations_max)
      return error{errc::invalid_argument, "--matrix: more than 1000 combinations"};
    keys.push_back(*std::move(key));
  }
  auto out = std::vector<matrix_job>{};
  auto first = matrix_job{};
  first.output = output;
  if (auto combined = combine(keys, 0, first, {}, out); !combined)
    return combined.error();
  auto outputs = std::set<std::string>{};
  for (const auto& job : out)
    if (!outputs.insert(job.output).second)
      return error{errc::invalid_argument, "--matrix: two combinations would write " + job.output +
                                               "; use values that differ in letters and digits"};
  return out;
}

std::string budget_note(std::size_t jobs, const stop_rules& rules) {
  auto out = std::string{};
  if (rules.budget) {
    const auto dollars = static_cast<double>(*rules.budget) / 1e9;
    out +=
        fmt::format("; --budget-usd is {} for each of them, {} together", detail::usd_text(dollars),
                    detail::usd_text(dollars * static_cast<double>(jobs)));
  }
  if (rules.budget_tokens)
    out +=
        fmt::format("; --budget-tokens is {} for each of them, {} together", *rules.budget_tokens,
                    *rules.budget_tokens * static_cast<std::int64_t>(jobs));
  return out.empty() ? out : "--matrix: " + counted(jobs, "combination") + out;
}

int run_matrix(const std::vector<matrix_job>& jobs,
               const std::function<job_end(const matrix_job&)>& run,
               const std::function<std::string(const matrix_job&)>& lines_of) {
  constexpr auto dead_rows = 2;
  constexpr auto drained = 3;
  auto highest = 0;
  auto table =
      fmt::format("{:<40} {:>7} {:>7} {:>16} {:>9} {:>9} {:>11} {:>11} {:>11}\n", "", "ok",
                  "failed", "score %", "p50 ms", "p95 ms", "tokens in", "tokens out", "cost");
  for (const auto& job : jobs) {
    std::cout << "== " << job.name << std::endl;
    const auto [code, has_all_rows] = run(job);
    highest = std::max(highest, code);
    if (code != 0 && code != dead_rows && !(code == drained && has_all_rows)) {
      list_left(std::span{jobs}.subspan(static_cast<std::size_t>(&job - jobs.data())), jobs.size());
      return code;
    }
    const auto read = results::report::of_file(lines_of(job));
    if (!read) {
      std::cerr << "superstep run: " << read.error().text << '\n';
      return 1;
    }
    table += table_line(job.name, *read);
  }
  std::cout << '\n' << table << std::flush;
  return highest;
}

} // namespace superstep::cli
