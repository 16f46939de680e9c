// SPDX-License-Identifier: Apache-2.0
// make_model(): creates a model from its name, or from a script after "scripted:".
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/scripted_model.hpp>

#include <string>
#include <utility>

namespace superstep {

namespace {

/// A model and the I/O runtime that it uses. The order of the members destroys the model first.
struct served_model {
  std::shared_ptr<io_runtime> io;
  chat_model_ptr model;
};

constexpr auto scripted = std::string_view{"scripted:"};

result<chat_model_ptr> make_scripted(std::string rest) {
  auto options = scripted_model_options{};
  const auto is_text = rest.starts_with('{') || rest.find('\n') != rest.npos;
  (is_text ? options.text : options.path) = std::move(rest);
  return make_scripted_model(std::move(options));
}

} // namespace

result<chat_model_ptr> make_model(std::string_view spec) {
  if (spec.starts_with(scripted))
    return make_scripted(std::string{spec.substr(scripted.size())});
  const auto& io = shared_io_runtime();
  auto made = init_chat_model(spec, *io);
  if (!made)
    return made;
  auto held = std::make_shared<const served_model>(served_model{io, *std::move(made)});
  return chat_model_ptr{held, held->model.get()};
}

} // namespace superstep
