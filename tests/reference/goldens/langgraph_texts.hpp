// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace superstep::conformance {

/// Returns LangGraph's wording of an error text of superstep, as recorded cases compare it. Other
/// texts are returned unchanged.
[[nodiscard]] std::string langgraph_text(std::string ours);

} // namespace superstep::conformance
