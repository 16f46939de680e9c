// SPDX-License-Identifier: Apache-2.0
// Scores answers with a model as judge: writes the judge's rows, and reads its scores.
#include "results/judge.hpp"

#include "base/digest.hpp"
#include "results/gold.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace superstep::results {

namespace {

/// Returns the row of the judge for a row.
json::object judge_row(const result_line& row, simdjson::dom::object line,
                       const json::value& gold) {
  auto out = json::object{};
  out["question"] = row.question;
  out["answer"] = compared_text(row);
  out["gold"] = gold;
  out["columns"] = columns_of(line);
  constexpr auto digits = std::size_t{12};
  constexpr auto key_bytes_max = std::size_t{1'000}; // an id has at most 1,024 bytes
  const auto key = row.key.size() <= key_bytes_max ? row.key : digest_text(row.key);
  out["id"] = key + '@' + digest_text(superstep::to_text(out)).substr(0, digits);
  return out;
}

/// The scores of a judge by the ids of its rows, of which it keeps 64-bit hashes.
class judged_scores {
public:
  [[nodiscard]] static result<judged_scores> read(const std::string& judged) {
    auto reader = result_reader::open(judged);
    if (!reader)
      return reader.error();
    auto out = judged_scores{};
    const auto read = reader->for_each([&]() -> result<void> {
      const auto row = read_result_line(reader->object());
      if (const auto score = judged_score(row); score && row.status == result_status::ok)
        out.scores_.emplace_back(hash_of(row.key), *score);
      return {};
    });
    if (!read)
      return read.error();
    std::ranges::sort(out.scores_);
    return out;
  }
  [[nodiscard]] std::optional<double> find(std::string_view id) const {
    const auto hash = hash_of(id);
    const auto found = std::ranges::lower_bound(scores_, hash, {}, &hashed_score::first);
    return found != scores_.end() && found->first == hash ? std::optional{found->second}
                                                          : std::nullopt;
  }

private:
  using hashed_score = std::pair<std::uint64_t, double>;
  static std::uint64_t hash_of(std::string_view id) { return std::hash<std::string_view>{}(id); }
  std::vector<hashed_score> scores_;
};

} // namespace

result<void> check_replaced_judge_rows(const std::string& path) {
  return check_replaced(path, {"question", "answer", "gold", "columns", "id"});
}

result<std::uint64_t> write_judge_rows(const score_options& options, const std::string& path) {
  if (const auto checked = check_replaced_judge_rows(path); !checked)
    return checked.error();
  auto from = expected_rows::open(options);
  if (!from)
    return from.error();
  auto rows = std::uint64_t{0};
  auto text = std::string{};
  auto out = detail::file::open_regular(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!out)
    return out.error();
  constexpr auto buffer_max = std::size_t{1} << 20U;
  const auto written = from->for_each([&](const result_line& row, simdjson::dom::object line,
                                          const json::value& gold) -> result<void> {
    if (row.status != result_status::ok || gold.is_null())
      return {};
    ++rows;
    append_text(text, judge_row(row, line, gold));
    text += '\n';
    return text.size() < buffer_max ? result<void>{} : out->append(std::exchange(text, {}));
  });
  if (!written)
    return written.error();
  if (auto rest = out->append(text); !rest)
    return rest.error();
  return rows;
}

result<score_summary> score_judged(const score_options& options, const std::string& judged) {
  const auto scores = judged_scores::read(judged);
  if (!scores)
    return scores.error();
  return score_rows(options,
                    [&](const result_line& row, simdjson::dom::object line,
                        const json::value& gold) -> result<std::optional<double>> {
                      if (row.status != result_status::ok)
                        return std::optional{0.0};
                      const auto id = judge_row(row, line, gold)["id"].as_string();
                      return scores->find({id.data(), id.size()});
                    });
}

} // namespace superstep::results
