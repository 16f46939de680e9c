// SPDX-License-Identifier: Apache-2.0
// The models that Python programs name.
#include "models.hpp"

#include "convert.hpp"
#include "process.hpp"
#include "python_tool.hpp"

#include <superstep/models/provider_model.hpp>

#include <algorithm>
#include <string_view>

#include <nanobind/stl/string.h>

namespace superstep::python {

namespace {

chat_model_ptr make_named(std::string_view spec) {
  // The model's connections belong to this process: a forked child has no I/O thread of its parent.
  constexpr auto script = std::string_view{"scripted:"};
  auto made =
      spec.starts_with(script) ? make_model(spec) : init_chat_model(spec, *process::get().io());
  if (!made)
    throw nb::value_error(("model: " + made.error().text).c_str());
  return *std::move(made);
}

} // namespace

chat_model_ptr model_table::get(nb::handle from, std::vector<shared_object>* functions) {
  if (!PyUnicode_Check(from.ptr())) {
    auto f = python_function{shared_object{from.attr("function")},
                             nb::cast<bool>(from.attr("is_async")), false};
    if (functions != nullptr)
      functions->push_back(f.callable);
    return make_python_model(std::move(f), nb::cast<std::string>(from.attr("name")));
  }
  const auto spec = text_of(from, "model");
  const auto found = std::ranges::find(
      named_, spec, [](const auto& one) -> const std::string& { return one.first; });
  if (found != named_.end())
    return found->second;
  if (named_.size() == named_max)
    named_.pop_front();
  return named_.emplace_back(spec, make_named(spec)).second;
}

nb::object model_table::name_of(const chat_model& model) const {
  for (const auto& [name, one] : named_)
    if (one.get() == &model)
      return to_python(std::string_view{name});
  const auto function = function_of(model);
  return function ? nb::object(nb::borrow(function.get())) : nb::object(nb::none());
}

} // namespace superstep::python
