// SPDX-License-Identifier: Apache-2.0
// Errors of superstep as caf::error.
#include <superstep/actors/caf.hpp>

#include <caf/message.hpp>

#include <string_view>

namespace superstep {

caf::error make_error(graph_errc code) {
  return {static_cast<std::uint8_t>(code), caf::atom("ss_graph")};
}

caf::error caf_error_of(const run_error& error) {
  const auto category = std::string_view{error.code.category().name()};
  const auto atom = category == "graph"   ? caf::atom("ss_graph")
                    : category == "actor" ? caf::atom("ss_actor")
                                          : caf::atom("ss_other");
  return {static_cast<std::uint8_t>(error.code.value()), atom,
          caf::make_message(error.text, to_string(error.code))};
}

std::string text_of(const caf::error& error) {
  if (!error || !error.context().match_elements<std::string, std::string>())
    return {};
  return error.context().get_as<std::string>(0);
}

} // namespace superstep
