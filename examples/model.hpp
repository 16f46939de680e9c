// SPDX-License-Identifier: Apache-2.0
// Selects the model of the examples.
#pragma once

#include <cstdlib>
#include <string>

/// Returns the model that SUPERSTEP_MODEL names, for example openai:gpt-4o-mini. Without the
/// variable it returns a scripted model, which follows `rules` and needs neither a key nor a
/// network; see docs/scripted-model.md.
inline std::string model_or_script(const std::string& rules) {
  const auto* named = std::getenv("SUPERSTEP_MODEL");
  return named != nullptr ? named : "scripted:" + rules;
}
