// SPDX-License-Identifier: Apache-2.0
// The texts of syntax errors in YAML, for scripted models and agent files.
#include "models/yaml_error_text.hpp"

#include <yaml-cpp/depthguard.h>

#include <array>
#include <string_view>
#include <utility>

namespace superstep::models {

std::string yaml_error_text(const YAML::Exception& e) {
  if (dynamic_cast<const YAML::DeepRecursion*>(&e) != nullptr)
    return "nested too deeply";
  const auto clearer = std::array<std::pair<std::string_view, const char*>, 13>{
      {{YAML::ErrorMsg::END_OF_SEQ_FLOW, "'[' has no closing ']', or a ',' is missing"},
       {YAML::ErrorMsg::END_OF_MAP_FLOW, "'{' has no closing '}', or a ',' is missing"},
       {YAML::ErrorMsg::FLOW_END, "a ']' or '}' has no opening bracket"},
       {YAML::ErrorMsg::END_OF_MAP, "the indentation of this line does not match the lines above"},
       {YAML::ErrorMsg::END_OF_SEQ, "the indentation of this line does not match the lines above"},
       {YAML::ErrorMsg::EOF_IN_SCALAR, "a quoted text has no closing quote"},
       {YAML::ErrorMsg::TAB_IN_INDENTATION, "a line is indented with a tab; use spaces"},
       {YAML::ErrorMsg::BLOCK_ENTRY,
        "a '-' is not allowed here; check the indentation (spaces, no tabs)"},
       {YAML::ErrorMsg::MAP_KEY,
        "a '?' is not allowed here; put texts that begin with '? ' in quotes"},
       {YAML::ErrorMsg::MAP_VALUE,
        "a ':' is not allowed here; check the indentation (spaces, no tabs), and put texts that "
        "contain ': ' in quotes"},
       {YAML::ErrorMsg::UNKNOWN_TOKEN,
        "a text begins with a character that YAML reserves; put the text in quotes"},
       {YAML::ErrorMsg::UNKNOWN_ANCHOR,
        "'*' refers to an anchor that is not defined; put texts that begin with '*' in quotes"},
       {YAML::ErrorMsg::ALIAS_NOT_FOUND,
        "'*' needs the name of an anchor; put texts that begin with '*' in quotes"}}};
  for (const auto& [text, better] : clearer)
    if (e.msg == text)
      return better;
  return e.msg;
}

} // namespace superstep::models
