// SPDX-License-Identifier: Apache-2.0
// A tool for load tests. It waits, and then succeeds or fails by a reproducible random number.
#include <superstep/base/await.hpp>
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/detail/argument_schema.hpp>

#include <chrono>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

/// Mixes a text into a hash (FNV-1a). Unlike std::hash, the result is the same on every machine.
std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const auto c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return (hash ^ 0xffU) * 0x100000001b3U;
}

/// Returns a number from 0 to 1 that depends only on the run, the call and the seed.
double draw(std::uint64_t seed, const tool_context& context) {
  auto h = mix(mix(0xcbf29ce484222325U ^ seed, context.run_key), context.tool_call_id);
  h = (h ^ (h >> 33U)) * 0xff51afd7ed558ccdU;
  h = (h ^ (h >> 33U)) * 0xc4ceb9fe1a85ec53U;
  h ^= h >> 33U;
  return static_cast<double>(h >> 11U) * 0x1p-53;
}

class simulated_tool final : public tool {
public:
  simulated_tool(tool_definition definition, simulated_options options)
      : definition_{std::move(definition)}, options_{std::move(options)} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }

  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    if (options_.delay.count() > 0) {
      auto delay = sleep_for{options_.delay};
      co_await delay;
    }
    auto out = tool_output{};
    out.is_error = draw(options_.seed, context) < options_.error_rate;
    if (out.is_error)
      out.content = "Error: simulated failure\n Please fix your mistakes.";
    else if (!options_.result)
      out.content = to_text(call.args);
    else if (const auto* text = options_.result->if_string())
      out.content.assign(text->data(), text->size());
    else
      out.content = to_text(*options_.result);
    co_return out;
  }

private:
  tool_definition definition_;
  simulated_options options_;
};

} // namespace

result<tool_ptr> make_simulated(simulated_options options) {
  if (options.name.empty())
    return error{errc::invalid_argument, "simulated: name: is missing; it is required"};
  if (!(options.error_rate >= 0 && options.error_rate <= 1))
    return error{errc::invalid_argument, "simulated: error_rate: must be from 0 to 1"};
  if (options.args_schema.empty())
    options.args_schema = json::object{{"type", "object"}};
  if (const auto schema = argument_schema::compile(options.args_schema); !schema)
    return error{errc::invalid_argument, "simulated: args_schema: " + schema.error().text};
  auto definition = tool_definition{options.name, options.description, options.args_schema};
  return tool_ptr{
      std::make_shared<const simulated_tool>(std::move(definition), std::move(options))};
}

} // namespace superstep
