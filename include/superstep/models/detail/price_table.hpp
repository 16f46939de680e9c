// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// The prices of a model, in US dollars per million tokens.
struct model_price {
  double input = 0;                     ///< input tokens that are not read from a cache
  double output = 0;                    ///< answer tokens, reasoning included
  std::optional<double> cached_input{}; ///< input tokens read from a cache; not set: like `input`
  std::optional<double> cache_write{};  ///< input tokens written to a cache; not set: like `input`

  friend bool operator==(const model_price&, const model_price&) = default;
};

/// The prices of models by name. A plain value; const members may be called by any number of
/// threads.
class price_table {
public:
  /// Returns the table that is part of the program: models/prices.json of the source tree.
  [[nodiscard]] static const price_table& built_in();

  /// Reads prices from JSON: `{"MODEL": {"input": …, "output": …, "cached_input"?: …,
  /// "cache_write"?: …}, …}`. A whole price file is accepted as well: `{"date": …, "models":
  /// {…}}`.
  /// @param where precedes the text of an error, for example the path of the file
  /// @return the table, or errc::parse_failed with the name of the invalid member
  [[nodiscard]] static result<price_table> from_json(const json::value& value,
                                                     std::string_view where);

  /// Reads prices from a JSON file of at most 4 MiB; see from_json().
  [[nodiscard]] static result<price_table> read(const std::string& path);

  /// Adds the prices of another table. They replace those of the same names.
  void add(const price_table& more);

  /// Returns the prices of a model; null if they are not known. A name that ends in a date, such as
  /// `gpt-4o-2024-08-06`, or that begins with a provider, such as `openai:gpt-4o`, also matches the
  /// name without these parts. The name `*` has the prices of all other models.
  [[nodiscard]] const model_price* find(std::string_view model) const;

  /// The date of the prices, in the form 2026-01-31; empty if the table states none.
  [[nodiscard]] const std::string& date() const noexcept { return date_; }

private:
  std::map<std::string, model_price, std::less<>> models_;
  std::string date_;
};

/// Returns the cost of model calls in billionths of a US dollar, rounded to the nearest one. Cached
/// input tokens are part of `usage.input_tokens`. May be called from any thread.
[[nodiscard]] std::int64_t cost_of(const token_usage& usage, const model_price& price);

} // namespace superstep
