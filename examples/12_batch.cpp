// SPDX-License-Identifier: Apache-2.0
// Runs one agent with many inputs. The first call returns the results in the order of the inputs.
// The second passes each result to a callback when its run ends. A failed run does not affect the
// others.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace ss = superstep;
using namespace std::chrono_literals;

constexpr auto rules = R"(
rules:
  - {match: 'of (Italy|Norway|Peru)', text: 'I know the capital of \1.'}
)";

int main() {
  auto engine = ss::engine{};
  auto agent = ss::create_agent({.model = model_or_script(rules)});
  auto questions = std::vector<std::string>{};
  for (const auto* country : {"Italy", "Atlantis", "Norway", "Peru"})
    questions.push_back(std::string{"What is the capital of "} + country + '?');

  for (const auto& result : engine.batch(agent, questions, {.deadline = 30s}, 2)) // two at a time
    if (result.error)
      std::cout << "failed: " << result.error->text << '\n';
    else
      std::cout << ss::text_of(result.state.messages.back()) << '\n';

  auto finished = std::atomic<int>{0};
  engine.batch(agent, questions, {}, [&](std::size_t, ss::run_result<ss::messages_state> result) {
    finished += result.error ? 0 : 1; // called on threads of the engine, as each run ends
  });
  std::cout << finished << " of " << questions.size() << " runs finished\n";
}
