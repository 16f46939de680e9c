// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"

#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace superstep::python {

/// The models of an agent: its own, and those by which its wrappers replace it. A model with a name
/// is made once, so that its connections are kept. Used with the GIL only.
class model_table {
public:
  /// The largest number of models with names that are kept.
  static constexpr std::size_t named_max = 64;

  /// Returns the model for a text such as `openai:gpt-4o-mini`, or for a function as the package
  /// passes it: an object with the attributes function, is_async and name.
  /// @param functions receives the function; null: the model is used for one call
  /// @throws nb::value_error for a text that names no model
  [[nodiscard]] chat_model_ptr get(nb::handle from, std::vector<shared_object>* functions);
  /// Returns the text or the function of a model; None if it is neither.
  [[nodiscard]] nb::object name_of(const chat_model& model) const;

private:
  std::deque<std::pair<std::string, chat_model_ptr>> named_; // the newest is last
};

} // namespace superstep::python
