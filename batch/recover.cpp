// SPDX-License-Identifier: Apache-2.0
#include "recover.hpp"

#include "line_reader.hpp"
#include "output_line.hpp"

#include <simdjson.h>

namespace superstep::detail {
namespace {

namespace dom = simdjson::dom;

// Output lines are as long as their histories; only the tail of one interrupted sync is read.
constexpr auto tail_line_bytes_max = std::size_t{1} << 30U;

std::string_view key_of(dom::object line) noexcept {
  auto key = std::string_view{};
  if (line.at_key("custom_id").get(key) != simdjson::SUCCESS &&
      line.at_key("id").get(key) != simdjson::SUCCESS)
    return {};
  return key;
}

template <class Number>
void read_count(dom::object from, std::string_view name, Number& into) noexcept {
  auto value = Number{};
  if (from.at_key(name).get(value) == simdjson::SUCCESS)
    into = value;
}

/// What the journal would have said of an output line of either form.
row_counts counts_of(dom::object line) noexcept {
  auto counts = row_counts{};
  read_count(line, "steps", counts.steps);
  read_count(line, "model_calls", counts.model_calls);
  read_count(line, "tool_calls", counts.tool_calls);
  auto usage = dom::object{};
  if (line.at_key("usage").get(usage) == simdjson::SUCCESS) {
    read_count(usage, "input_tokens", counts.input_tokens);
    read_count(usage, "output_tokens", counts.output_tokens);
    read_count(usage, "total_tokens", counts.total_tokens);
  } else if (line["response"]["body"]["usage"].get(usage) == simdjson::SUCCESS) {
    read_count(usage, "prompt_tokens", counts.input_tokens);
    read_count(usage, "completion_tokens", counts.output_tokens);
    read_count(usage, "total_tokens", counts.total_tokens);
  }
  return counts;
}

bool has_failed(dom::object line) noexcept {
  auto failure = dom::object{};
  return line.at_key("error").get(failure) == simdjson::SUCCESS;
}

/// The complete, parsable lines of a file from an offset on, one after the other.
class tail {
public:
  tail(const file& from, std::uint64_t begin)
      : lines_{from, tail_line_bytes_max, begin}, end_{begin} {}

  /// False at the first line that is torn or damaged.
  result<bool> next() {
    auto line = lines_.next();
    if (!line)
      return line.error();
    if (!*line || !(*line)->is_complete || (*line)->is_too_long)
      return false;
    end_ = (*line)->offset + (*line)->size + 1;
    auto text = (*line)->text;
    return parser_.parse(text.data(), text.size()).get(object_) == simdjson::SUCCESS;
  }
  [[nodiscard]] dom::object object() const noexcept { return object_; }
  /// Where the line that was read last ends.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

private:
  line_reader lines_;
  dom::parser parser_;
  dom::object object_;
  std::uint64_t end_;
};

result<void> expect_promised_bytes(const file& opened, std::uint64_t promised) {
  auto size = opened.is_open() ? opened.size() : result<std::uint64_t>{0};
  if (!size)
    return size.error();
  if (*size < promised)
    return error{errc::invalid_argument,
                 opened.path() + " is shorter than its journal says (" + std::to_string(*size) +
                     " bytes instead of " + std::to_string(promised) +
                     "): it was changed or lost; put it back, or start anew with --fresh"};
  return {};
}

/// The line of the input if a dead letter is that of a line that never ran; else 0.
std::uint64_t bad_line_of(dom::object letter) noexcept {
  auto kind = std::string_view{};
  auto line = std::uint64_t{0};
  const auto is_bad = letter["error"]["kind"].get(kind) == simdjson::SUCCESS &&
                      (kind == bad_line_kind || kind == duplicate_key_kind);
  return is_bad && letter["error"]["line"].get(line) == simdjson::SUCCESS ? line : 0;
}

/// Reads dead letters up to that of `key`, which is due; those of bad lines may stand before it.
result<bool> find_letter(job_files& files, tail& dead, std::string_view key, std::string& records) {
  while (files.dead.is_open()) {
    auto more = dead.next();
    if (!more || !*more)
      return more;
    const auto line = bad_line_of(dead.object());
    if (line == 0)
      return key_of(dead.object()) == key;
    files.content.bad_lines.insert(line);
    files.content.dead_end = dead.end();
    append_bad(records, line, dead.end());
  }
  return false;
}

/// Keeps finished lines beyond the journal. Returns the journal records that they lack.
///
/// A dead letter is written before its output line and in the same order, so an output line of a
/// failed row belongs to the next line of the dead letters. Where they do not match, rows are run
/// again, which is always right.
result<std::string> keep_finished_lines(job_files& files) {
  auto& content = files.content;
  auto records = std::string{};
  auto written = tail{files.output, content.output_end};
  auto dead = tail{files.dead.is_open() ? files.dead : files.output, content.dead_end};
  while (true) {
    auto more = written.next();
    if (!more)
      return more.error();
    auto key = *more ? key_of(written.object()) : std::string_view{};
    if (key.empty() || content.done.contains(digest_of(key)))
      return records;
    const auto counts = counts_of(written.object());
    if (has_failed(written.object())) {
      auto letter = find_letter(files, dead, key, records);
      if (!letter)
        return letter.error();
      if (!*letter)
        return records;
      content.dead_end = dead.end();
      append_dead(records, key, written.end(), content.dead_end, counts);
      ++content.dead;
    } else {
      append_ok(records, key, written.end(), counts);
      ++content.ok;
    }
    content.output_end = written.end();
    content.counts += counts;
    content.mark_done(digest_of(key));
  }
}

result<void> cut_and_sync(file& opened, std::uint64_t end) {
  if (auto cut = opened.cut(end); !cut)
    return cut;
  return opened.sync();
}

} // namespace

result<void> recover(job_files& files) {
  auto& content = files.content;
  if (auto whole = expect_promised_bytes(files.output, content.output_end); !whole)
    return whole;
  if (auto whole = expect_promised_bytes(files.dead, content.dead_end); !whole)
    return whole;
  auto records = keep_finished_lines(files);
  if (!records)
    return records.error();
  if (files.dead.is_open())
    if (auto cut = cut_and_sync(files.dead, content.dead_end); !cut)
      return cut;
  if (auto cut = cut_and_sync(files.output, content.output_end); !cut)
    return cut;
  if (auto cut = files.journal.cut(content.valid_bytes); !cut)
    return cut;
  if (auto kept = files.journal.append(*records); !kept)
    return kept;
  return files.journal.sync();
}

} // namespace superstep::detail
