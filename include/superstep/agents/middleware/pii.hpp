// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// A match of personal data in a text: bytes [begin, end).
struct pii_match {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const pii_match&, const pii_match&) = default;
};
/// Returns the matches in a text from left to right, without overlaps. Called by any number of runs
/// at once.
using pii_detector = std::function<std::vector<pii_match>(std::string_view)>;

/// Returns a built-in detector: email, credit_card (with a valid check digit), ip, mac_address or
/// url. Throws std::invalid_argument for other kinds.
[[nodiscard]] pii_detector detector_of(std::string_view kind);
/// Returns a detector for all matches of a regular expression (RE2). Throws std::invalid_argument
/// if the expression is not valid.
[[nodiscard]] pii_detector detector_by_pattern(const std::string& pattern);

/// The treatment of matches.
enum class pii_strategy : std::uint8_t {
  redact, ///< replaced by [REDACTED_EMAIL]
  mask,   ///< all but the last part is hidden, depending on the kind: ************1111
  hash,   ///< replaced by <email_hash:12345678>, which is the same for the same value
  block,  ///< the run fails with pii_error
};

/// Thrown for a match with pii_strategy::block.
class pii_error : public std::runtime_error {
public:
  pii_error(const std::string& kind, std::size_t count);
};

/// Returns the text with the strategy applied to all matches. Throws pii_error.
[[nodiscard]] std::string without_pii(std::string_view text, const std::string& kind,
                                      const pii_detector& find, pii_strategy strategy);

/// Options of pii().
struct pii_options {
  std::string kind; ///< a built-in kind, or any name if `find` is set
  pii_strategy strategy = pii_strategy::redact;
  pii_detector find{};       ///< empty: the built-in detector of the kind
  bool input = true;         ///< check the newest message of the user
  bool output = false;       ///< check answers of the model, after they were streamed
  bool tool_results = false; ///< check results of tools
};

/// Makes a middleware that detects personal data of one kind: in new messages before a call of the
/// model, and in the model's answer after it. The messages are replaced in the state.
/// @throws std::invalid_argument for an unknown kind without detector
/// Source: `PIIMiddleware` in langchain 1.4.7, agents/middleware/pii.py.
[[nodiscard]] message_middleware pii(pii_options options);

} // namespace superstep
