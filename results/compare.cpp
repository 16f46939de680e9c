// SPDX-License-Identifier: Apache-2.0
// Compares two output files row by row. The right file is indexed by hashes of its ids; a hash that
// matches is checked by reading the row.
#include "results/compare.hpp"

#include "base/utf8.hpp"
#include "base/visible_text.hpp"
#include "batch/usd_text.hpp"
#include "results/answer_field.hpp"
#include "results/score_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace superstep::results {

namespace {

/// The place of a row in a file.
struct indexed_row {
  std::uint64_t hash;
  std::uint64_t offset;
  std::uint32_t size; // line_reader limits lines to 1 GiB
  bool is_used = false;
};

std::uint64_t hash_of(const std::string& key) noexcept {
  return std::hash<std::string>{}(key);
}

error without_id(const result_reader& reader) {
  return {errc::parse_failed,
          reader.file().path() + ": has a line without an id; rows can only be compared by id"};
}

error repeated(const std::string& path, const std::string& key) {
  return {errc::parse_failed,
          path + ": has several rows with the id '" + key + "'; rows can only be compared by id"};
}

/// Returns the place of the last row that was read.
indexed_row place_of(const result_reader& reader, const std::string& key) {
  return {hash_of(key), reader.offset(), static_cast<std::uint32_t>(reader.size())};
}

/// Sorts rows by hash, and fails if two of them have the same id. Only rows with equal hashes are
/// read again.
result<void> check_distinct(const detail::file& from, std::vector<indexed_row>& rows) {
  std::ranges::sort(rows, {}, &indexed_row::hash);
  auto parser = simdjson::dom::parser{};
  for (auto i = std::size_t{1}; i < rows.size(); ++i) {
    if (rows[i].hash != rows[i - 1].hash)
      continue;
    const auto one = read_result_at(from, rows[i - 1].offset, rows[i - 1].size, parser);
    const auto other = read_result_at(from, rows[i].offset, rows[i].size, parser);
    if (!one || !other)
      return one ? other.error() : one.error();
    if (one->key == other->key)
      return repeated(from.path(), one->key);
  }
  return {};
}

/// The right file: its index and its statistics.
class indexed_file {
public:
  [[nodiscard]] static result<indexed_file> open(const std::string& path,
                                                 const std::string& answer) {
    auto reader = result_reader::open(path);
    if (!reader)
      return reader.error();
    auto scores = score_table::beside(path);
    if (!scores)
      return scores.error();
    auto out = indexed_file{*std::move(reader)};
    out.answer_ = answer;
    out.scores_ = *std::move(scores);
    if (auto read = out.read(); !read)
      return read.error();
    return out;
  }

  [[nodiscard]] report& statistics() noexcept { return statistics_; }

  /// Finds the row with the id and marks it as used.
  [[nodiscard]] result<std::optional<result_line>> take(const std::string& key) {
    const auto hash = hash_of(key);
    for (auto at = std::ranges::lower_bound(rows_, hash, {}, &indexed_row::hash);
         at != rows_.end() && at->hash == hash; ++at) {
      auto found = read_result_at(reader_.file(), at->offset, at->size, parser_, answer_);
      if (!found)
        return found.error();
      if (found->key != key)
        continue;
      if (std::exchange(at->is_used, true))
        return repeated(left_path, key);
      scores_.set_score(*found);
      return std::optional{*std::move(found)};
    }
    return std::optional<result_line>{};
  }

  /// Calls `see` for each row that was not taken, in the order of the file.
  [[nodiscard]] result<void> for_rest(const std::function<void(result_line)>& see) {
    std::ranges::sort(rows_, {}, &indexed_row::offset);
    for (const auto& row : rows_) {
      if (row.is_used)
        continue;
      auto found = read_result_at(reader_.file(), row.offset, row.size, parser_, answer_);
      if (!found)
        return found.error();
      scores_.set_score(*found);
      see(*std::move(found));
    }
    return {};
  }

  std::string left_path; ///< for errors: a row that is taken twice

private:
  explicit indexed_file(result_reader reader) : reader_{std::move(reader)} {}

  [[nodiscard]] result<void> read() {
    auto compared = answer_field{answer_};
    auto indexed = reader_.for_each([&]() -> result<void> {
      auto row = read_result_line(reader_.object(), answer_);
      compared.add(reader_.object(), row);
      if (row.key.empty())
        return without_id(reader_);
      scores_.set_score(row);
      statistics_.add(row);
      rows_.push_back(place_of(reader_, row.key));
      return {};
    });
    if (!indexed)
      return indexed;
    if (auto checked = compared.check(reader_.file().path()); !checked)
      return checked;
    statistics_.is_torn = reader_.is_torn();
    return check_distinct(reader_.file(), rows_);
  }

  result_reader reader_;
  simdjson::dom::parser parser_;
  std::vector<indexed_row> rows_;
  report statistics_;
  std::string answer_;
  score_table scores_;
};

bool are_same(const result_line& a, const result_line& b) noexcept {
  if (a.status != b.status)
    return false;
  return a.status == result_status::ok ? compared_text(a) == compared_text(b)
                                       : a.error_kind == b.error_kind;
}

/// Whether scores were made in the same way, as far as it is known.
bool are_comparable(const std::string& left, const std::string& right) noexcept {
  return left == right || left.empty() || right.empty();
}

/// Counts a pair and keeps it if there is room.
void take_pair(comparison& into, row_pair pair, const compare_options& options,
               const std::function<void(const row_pair&)>& see) {
  switch (pair.match) {
  case row_match::same:
    ++into.same;
    break;
  case row_match::different:
    ++into.different;
    break;
  case row_match::only_left:
    ++into.only_left;
    break;
  case row_match::only_right:
    ++into.only_right;
    break;
  }
  if (pair.left && pair.right) {
    const auto left_failed = pair.left->status != result_status::ok;
    const auto right_failed = pair.right->status != result_status::ok;
    into.failed_left += left_failed && !right_failed ? 1U : 0U;
    into.failed_right += right_failed && !left_failed ? 1U : 0U;
    if (pair.left->score && pair.right->score &&
        are_comparable(pair.left->scored_by, pair.right->scored_by)) {
      into.better_left += *pair.left->score > *pair.right->score ? 1U : 0U;
      into.better_right += *pair.right->score > *pair.left->score ? 1U : 0U;
    }
  }
  if (see)
    see(pair);
  if (pair.match == row_match::same && !options.keeps_same)
    return;
  if (into.rows.size() >= options.rows_max) {
    ++into.rows_omitted;
    return;
  }
  for (auto* side : {&pair.left, &pair.right})
    if (*side) {
      (*side)->answer = shortened((*side)->answer, options.text_bytes);
      (*side)->structured = shortened((*side)->structured, options.text_bytes);
      (*side)->tools.clear();
    }
  into.rows.push_back(std::move(pair));
}

std::string shown(const std::optional<result_line>& side) {
  if (!side)
    return "(no row)";
  return side->status == result_status::ok ? compared_text(*side)
                                           : side->error_kind + ": " + side->error_message;
}

std::string numbers_of(const std::optional<result_line>& side) {
  if (!side)
    return {};
  auto out = side->has_usage ? fmt::format("{} tokens", side->input_tokens + side->output_tokens)
                             : std::string{"- tokens"};
  if (side->wall_ms)
    out = fmt::format("{:.0f} ms, ", *side->wall_ms) + out;
  if (side->cost)
    out += ", " + detail::usd_text(*side->cost);
  if (side->score)
    out += fmt::format(", score {:.2f}", *side->score);
  return side->is_status_known ? out : out + ", unknown status";
}

std::string totals_text(const comparison& c) {
  auto out = fmt::format("{:<22}{:>16}{:>16}{:>12}\n", "", "left", "right", "change");
  for (const auto& total : totals_of(c))
    out += fmt::format("{:<22}{:>16}{:>16}{:>12}\n", total.name, total.left, total.right,
                       total.change);
  return out;
}

/// Returns the lines of a text, each at most `width` characters long.
std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  auto out = std::vector<std::string>{std::string{}};
  auto used = std::size_t{0};
  for (const auto c : text) {
    const auto is_start = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (c == '\n' || (is_start && used == width)) {
      out.emplace_back();
      used = 0;
    }
    if (c == '\n')
      continue;
    out.back() += c == '\t' ? ' ' : c;
    used += is_start ? 1U : 0U;
  }
  return out;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Returns the scores. Their change is in percentage points, because they are shares.
total score_total(const report& a, const report& b) {
  const auto percent = [](const report& side) { return 100 * side.score().value; };
  const auto text = [&](const report& side) {
    return side.rows_scored > 0 ? fmt::format("{:.1f} %", percent(side)) : std::string{"-"};
  };
  const auto has_both = a.rows_scored > 0 && b.rows_scored > 0;
  return {"score", text(a), text(b),
          has_both && are_comparable(a.scored_by, b.scored_by)
              ? fmt::format("{:+.1f} pp", percent(b) - percent(a))
              : "-"};
}

} // namespace

std::vector<total> totals_of(const comparison& c) {
  auto out = std::vector<total>{};
  const auto& a = c.left;
  const auto& b = c.right;
  const auto change = [](double from, double to) {
    return from > 0 ? fmt::format("{:+.1f} %", 100 * (to - from) / from) : "-";
  };
  const auto add = [&](std::string_view name, auto left, auto right, std::string_view unit = "",
                       int digits = 0) {
    const auto from = static_cast<double>(left);
    const auto to = static_cast<double>(right);
    out.push_back({name, fmt::format("{:.{}f}{}", from, digits, unit),
                   fmt::format("{:.{}f}{}", to, digits, unit), change(from, to)});
  };
  add("rows", a.rows(), b.rows());
  add("failed rows", a.failed, b.failed);
  if (a.unknown > 0 || b.unknown > 0)
    add("of unknown status", a.unknown, b.unknown);
  if (a.rows_scored > 0 || b.rows_scored > 0)
    out.push_back(score_total(a, b));
  if (a.latency.count() > 0 && b.latency.count() > 0) {
    const auto add_latency = [&](std::string_view name, double share) {
      add(name, in_ms(a.latency.percentile(share)), in_ms(b.latency.percentile(share)), " ms", 1);
    };
    add_latency("latency p50", 0.5);
    add_latency("latency p95", 0.95);
  }
  if (a.tokens.count() > 0 && b.tokens.count() > 0) {
    add("input tokens", a.input_tokens, b.input_tokens);
    add("output tokens", a.output_tokens, b.output_tokens);
  }
  if (a.rows_priced > 0 && b.rows_priced > 0)
    out.push_back(
        {"cost", detail::usd_text(a.cost), detail::usd_text(b.cost), change(a.cost, b.cost)});
  return out;
}

bool has_comparable_scores(const comparison& c) noexcept {
  return c.left.rows_scored > 0 && c.right.rows_scored > 0 &&
         are_comparable(c.left.scored_by, c.right.scored_by);
}

std::string scores_note(const comparison& c) {
  if (c.left.rows_scored == 0 || c.right.rows_scored == 0 || has_comparable_scores(c))
    return {};
  return fmt::format(
      "the scores are not compared, because they were made in different ways: left by "
      "{}, right by {}",
      c.left.scored_by, c.right.scored_by);
}

std::string omitted_rows_note(const comparison& c) {
  return c.rows_omitted == 0 ? std::string{}
                             : fmt::format("… and {} more; --rows {} lists all", c.rows_omitted,
                                           c.rows.size() + c.rows_omitted);
}

std::string_view to_string(row_match match) noexcept {
  switch (match) {
  case row_match::same:
    return "same";
  case row_match::different:
    return "different";
  case row_match::only_left:
    return "only left";
  case row_match::only_right:
    break;
  }
  return "only right";
}

result<comparison> compare(const std::string& left, const std::string& right,
                           const compare_options& options,
                           const std::function<void(const row_pair&)>& see) {
  auto indexed = indexed_file::open(right, options.answer);
  if (!indexed)
    return indexed.error();
  indexed->left_path = left;
  auto reader = result_reader::open(left);
  if (!reader)
    return reader.error();
  const auto scores = score_table::beside(left);
  if (!scores)
    return scores.error();
  auto out = comparison{};
  out.left_path = left;
  out.right_path = right;
  auto unpaired = std::vector<indexed_row>{}; // rows of the left file that only it has
  auto compared = answer_field{options.answer};
  const auto paired = reader->for_each([&]() -> result<void> {
    auto pair = row_pair{};
    pair.left = read_result_line(reader->object(), options.answer);
    compared.add(reader->object(), *pair.left);
    pair.key = pair.left->key;
    scores->set_score(*pair.left);
    if (pair.key.empty())
      return without_id(*reader);
    out.left.add(*pair.left);
    auto found = indexed->take(pair.key);
    if (!found)
      return found.error();
    pair.right = *std::move(found);
    if (!pair.right)
      unpaired.push_back(place_of(*reader, pair.key));
    pair.match = !pair.right                         ? row_match::only_left
                 : are_same(*pair.left, *pair.right) ? row_match::same
                                                     : row_match::different;
    take_pair(out, std::move(pair), options, see);
    return {};
  });
  if (!paired)
    return paired.error();
  if (const auto checked = compared.check(left); !checked)
    return checked.error();
  if (const auto checked = check_distinct(reader->file(), unpaired); !checked)
    return checked.error();
  out.left.is_torn = reader->is_torn();
  out.right = indexed->statistics();
  const auto rest = indexed->for_rest([&](result_line row) {
    auto pair = row_pair{};
    pair.key = row.key;
    pair.match = row_match::only_right;
    pair.right = std::move(row);
    take_pair(out, std::move(pair), options, see);
  });
  if (!rest)
    return rest.error();
  return out;
}

std::string in_columns(std::string_view left, std::string_view right, std::size_t width) {
  constexpr auto gap = std::string_view{" | "};
  constexpr auto column_min = std::size_t{10};
  const auto column = std::max(column_min, width > gap.size() ? (width - gap.size()) / 2 : 0);
  const auto a = wrap(left, column);
  const auto b = wrap(right, column);
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < std::max(a.size(), b.size()); ++i) {
    const auto& one = i < a.size() ? a[i] : std::string{};
    out += one + std::string(column - characters(one), ' ') + std::string{gap};
    out += i < b.size() ? b[i] : std::string{};
    while (out.back() == ' ')
      out.pop_back();
    out += '\n';
  }
  return out;
}

std::string to_text(const comparison& c, std::size_t width) {
  auto out =
      fmt::format("left   {}\nright  {}\n{} same, {} different, {} only left, {} only right\n",
                  c.left_path, c.right_path, c.same, c.different, c.only_left, c.only_right);
  if (c.failed_left + c.failed_right > 0)
    out +=
        fmt::format("{} failed only left, {} failed only right\n", c.failed_left, c.failed_right);
  if (c.better_left + c.better_right > 0)
    out += fmt::format("{} with a higher score left, {} with a higher score right\n", c.better_left,
                       c.better_right);
  if (const auto note = scores_note(c); !note.empty())
    out += note + '\n';
  out += totals_text(c);
  for (const auto& row : c.rows) {
    out += fmt::format("\n{}: {}\n", row.key, to_string(row.match));
    out += in_columns(numbers_of(row.left), numbers_of(row.right), width);
    out += in_columns(visible_text(shown(row.left)), visible_text(shown(row.right)), width);
  }
  if (const auto note = omitted_rows_note(c); !note.empty())
    out += '\n' + note + '\n';
  out.pop_back();
  return visible_text(out);
}

json::object to_json(const comparison& c) {
  auto out = json::object{};
  out["rows"] = {{"same", c.same},
                 {"different", c.different},
                 {"only_left", c.only_left},
                 {"only_right", c.only_right},
                 {"failed_only_left", c.failed_left},
                 {"failed_only_right", c.failed_right},
                 {"better_left", c.better_left},
                 {"better_right", c.better_right}};
  const auto by = [](const report& side) {
    return side.scored_by.empty() ? json::value(nullptr) : json::value(side.scored_by);
  };
  out["scores"] = {
      {"left", by(c.left)}, {"right", by(c.right)}, {"compared", has_comparable_scores(c)}};
  out["left"] = to_json(c.left);
  out["right"] = to_json(c.right);
  return out;
}

json::object to_json(const row_pair& pair) {
  const auto side = [](const std::optional<result_line>& row) -> json::value {
    if (!row)
      return nullptr;
    auto out = json::object{};
    out["status"] = row->status_text();
    out["answer"] = shown(row);
    out["wall_ms"] = row->wall_ms ? json::value(*row->wall_ms) : json::value(nullptr);
    out["tokens"] = nullptr;
    if (row->has_usage)
      out["tokens"] = row->input_tokens + row->output_tokens;
    out["cost"] = row->cost ? json::value(*row->cost) : json::value(nullptr);
    out["score"] = row->score ? json::value(*row->score) : json::value(nullptr);
    return out;
  };
  auto out = json::object{};
  out["id"] = pair.key;
  auto match = std::string{to_string(pair.match)};
  std::ranges::replace(match, ' ', '_');
  out["match"] = match;
  out["left"] = side(pair.left);
  out["right"] = side(pair.right);
  return out;
}

} // namespace superstep::results
