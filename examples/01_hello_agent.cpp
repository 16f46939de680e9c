// SPDX-License-Identifier: Apache-2.0
// The smallest agent: a model and a prompt.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <iostream>

namespace ss = superstep;

int main() {
  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model_or_script("{default: {text: 'Hello, Ada!'}}"),
      .prompt = "Greet the user by name, in one sentence.",
  });
  auto result = engine.invoke(agent, "My name is Ada.");
  std::cout << ss::text_of(result.state.messages.back()) << '\n';
}
