// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <exception>
#include <string>

// How the recorded cases of agents write what superstep gives.
namespace superstep::conformance {

/// Ids that superstep made begin so, because the keys of runs do; cases never see them.
inline constexpr auto made_id = '\x01';

/// A text of the reference without what is printed in another language's notation; `exact`: with
/// it.
[[nodiscard]] std::string canonical_text(const std::string& text, bool exact);

/// Messages in a value, at any depth, as programs of cases see them.
[[nodiscard]] json::value seen_form(const json::value& v);
/// The same as cases print them: without ids that were made, with canonical texts.
[[nodiscard]] json::value printed_form(const json::value& v, bool exact);

/// A failure as cases write it.
[[nodiscard]] json::object failure_form(const std::exception_ptr& cause, bool exact);

} // namespace superstep::conformance
