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

/// Where a text holds what it should not: bytes [begin, end).
struct pii_match {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const pii_match&, const pii_match&) = default;
};
/// Finds them, from left to right, without overlaps. Called by any number of runs at once.
using pii_detector = std::function<std::vector<pii_match>(std::string_view)>;

/// The detector of a kind that is known: email, credit_card (with a valid check digit), ip,
/// mac_address, url. Throws std::invalid_argument for others.
[[nodiscard]] pii_detector detector_of(std::string_view kind);
/// All that matches a pattern (RE2). Throws std::invalid_argument when it is none.
[[nodiscard]] pii_detector detector_by_pattern(const std::string& pattern);

/// What becomes of what was found.
enum class pii_strategy : std::uint8_t {
  redact, ///< [REDACTED_EMAIL]
  mask,   ///< the last part stays, depending on the kind: ************1111
  hash,   ///< <email_hash:12345678>, the same for the same value
  block,  ///< the run fails with pii_error
};

class pii_error : public std::runtime_error {
public:
  pii_error(const std::string& kind, std::size_t count);
};

/// The text after that. Throws pii_error.
[[nodiscard]] std::string without_pii(std::string_view text, const std::string& kind,
                                      const pii_detector& find, pii_strategy strategy);

struct pii_options {
  std::string kind; ///< a known one, or any name with a detector
  pii_strategy strategy = pii_strategy::redact;
  pii_detector find{}; ///< empty: that of the kind
  bool input = true;   ///< the newest message of a person
  bool output = false; ///< answers of the model. Streams have told them by then
  bool tool_results = false;
};

/// Looks for personal data in a conversation: before a call of the model in what is new, and after
/// it in the answer. Messages are replaced in the state. One for each kind.
[[nodiscard]] message_middleware pii(pii_options options);

} // namespace superstep
