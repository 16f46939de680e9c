// SPDX-License-Identifier: Apache-2.0
// Compares a job with the job in its journal. The user learns which parts have changed.
#include "job_changes.hpp"

#include "base/digest.hpp"
#include "base/hex.hpp"
#include "job_files.hpp"
#include "row_selection.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::detail {
namespace {

constexpr auto price_key = std::string_view{"price"};
constexpr auto key_digits = std::size_t{8};          // of the digest of a value
constexpr auto keys_bytes_max = std::size_t{16'384}; // a record of the journal has at most 64 KiB

/// The digests of the values by key.
using key_map = std::map<std::string_view, std::string_view>;

key_map parse_keys(std::string_view text) {
  auto out = key_map{};
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() > key_digits)
      out.emplace(line.substr(key_digits + 1), line.substr(0, key_digits));
  }
  return out;
}

bool is_below(std::string_view key, std::string_view above) noexcept {
  return key.starts_with(above) && (key.size() == above.size() || key[above.size()] == '.');
}

/// Returns the part of a job that a key of the agent file belongs to; empty for a key that does not
/// change the results.
std::string_view part_of(std::string_view key) noexcept {
  for (const auto above :
       {std::string_view{"limits"}, std::string_view{"record"}, std::string_view{"store"},
        std::string_view{"review"}, std::string_view{"early_tools"}, std::string_view{"prices"},
        std::string_view{"cache"}, price_key})
    if (is_below(key, above))
      return {};
  for (const auto above : {"model", "tools"})
    if (is_below(key, above))
      return above;
  return "agent";
}

/// Returns the changed keys of a part, separated by commas.
std::string changed_keys(const key_map& before, const key_map& now, std::string_view part) {
  constexpr auto shown = std::size_t{5};
  auto names = std::vector<std::string_view>{};
  const auto add_changed = [&](const key_map& from, const key_map& other, bool is_new_only) {
    for (const auto& [key, digest] : from) {
      const auto found = other.find(key);
      const auto is_changed = found == other.end() || (!is_new_only && found->second != digest);
      if (is_changed && part_of(key) == part)
        names.push_back(key);
    }
  };
  add_changed(before, now, false);
  add_changed(now, before, true);
  std::ranges::sort(names);
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < std::min(shown, names.size()); ++i)
    out.append(i > 0 ? ", " : "").append(names[i]);
  return names.size() > shown ? out + ", …" : out;
}

/// Collects the names of the parts.
class difference_list {
public:
  void add(std::string_view name, const std::string& details = {}) {
    text_.append(text_.empty() ? "" : ", ").append(name);
    if (!details.empty())
      text_.append(" (").append(details).append(")");
  }
  void compare(std::string_view name, const std::string& before, const std::string& now) {
    if (before != now)
      add(name);
  }
  /// Compares an option whose value is readable.
  void compare_option(std::string_view name, const std::string& before, const std::string& now) {
    if (before == now)
      return;
    add(name);
    text_.append(" from ").append(before.empty() ? "none" : before);
    text_.append(" to ").append(now.empty() ? "none" : now);
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

private:
  std::string text_;
};

/// Returns an id for a new job: `run-` and 12 random hexadecimal digits.
std::string new_job_id() {
  auto random = std::random_device{};
  auto id = std::string{"run-"};
  for (auto i = 0; i < 12; ++i)
    id += hex_digits[random() & 15U];
  return id;
}

} // namespace

job_header new_header(const batch_options& options, const std::string& digest,
                      const std::string& format) {
  const auto& print = options.fingerprint;
  auto seconds = options.time->now().time_since_epoch() / std::chrono::seconds{1};
  return {.job_id = new_job_id(),
          .created = static_cast<std::int64_t>(seconds),
          .agent = digest_text(print.agent),
          .tools = digest_text(print.tools),
          .model = digest_text(print.model),
          .parameters = digest_text(print.parameters),
          .input = digest,
          .format = format,
          .id_field = options.id_field,
          .shard = shard_text(options),
          .sample = sample_text(options),
          .repeat = repeat_text(options),
          .layout = std::string{has_view(options) ? rows_layout : std::string_view{}},
          .keys = keys_text(print)};
}

std::string keys_text(const job_fingerprint& print) {
  auto out = std::string{};
  for (const auto& [key, value] : print.keys) {
    const auto is_clean = key.find('\n') == std::string::npos;
    const auto line = digest_text(value).substr(0, key_digits) + ' ' + key + '\n';
    if (is_clean && out.size() + line.size() <= keys_bytes_max)
      out += line;
  }
  return out;
}

std::string differences(const job_header& before, const job_header& now) {
  auto out = difference_list{};
  const auto keys_before = parse_keys(before.keys);
  const auto keys_now = parse_keys(now.keys);
  // Earlier versions did not store the keys.
  const auto has_keys = !keys_before.empty() && !keys_now.empty();
  const auto compare = [&](std::string_view part, const std::string& a, const std::string& b) {
    if (a == b)
      return;
    auto keys = has_keys ? changed_keys(keys_before, keys_now, part) : std::string{};
    if (has_keys && keys.empty())
      keys = "the content of a file that the agent file names";
    out.add(part, keys);
  };
  compare("agent", before.agent, now.agent);
  compare("tools", before.tools, now.tools);
  compare("model", before.model, now.model);
  out.compare("parameters", before.parameters, now.parameters);
  out.compare("input", before.input, now.input);
  out.compare("--input-format", before.format, now.format);
  out.compare("--id-field", before.id_field, now.id_field);
  out.compare_option("--shard", before.shard, now.shard);
  out.compare_option("--sample", before.sample, now.sample);
  out.compare_option("--repeat", before.repeat, now.repeat);
  return std::move(out).take();
}

std::string price_note(const job_header& before, const job_header& now) {
  const auto keys_before = parse_keys(before.keys);
  for (const auto& [key, digest] : parse_keys(now.keys)) {
    const auto found = keys_before.find(key);
    if (is_below(key, price_key) && found != keys_before.end() && found->second != digest)
      return "the prices of the model have changed since the start of the job; the costs of rows "
             "that are done are those of the earlier prices";
  }
  return {};
}

} // namespace superstep::detail
