// SPDX-License-Identifier: Apache-2.0
// Reads the YAML of scripted models, and reports all errors of a file together.
#include "models/script_reader.hpp"

#include "base/utf8.hpp"
#include "models/yaml_error_text.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <type_traits>

namespace superstep::models {

namespace {

constexpr auto depth_max = 32; // maximum nesting of values in `args`

/// Reads one file and collects its errors, so that a user can fix them together.
class reader {
public:
  explicit reader(std::string name) : name_{std::move(name)} {}

  /// Reads the whole file. Replaces an invalid value by a default and continues, to find further
  /// errors.
  script read(const YAML::Node& root) {
    auto out = script{};
    if (!allow(root, "", {"seed", "latency_ms", "tokens_per_second", "faults", "rules", "default"}))
      return out;
    out.seed = number<std::uint64_t>(root, "", "seed", 0);
    out.tokens_per_second = number(root, "", "tokens_per_second", 0.0);
    if (const auto latency = child(root, "latency_ms"))
      out.latency = read_latency(latency);
    if (const auto faults = child(root, "faults"))
      out.faults = read_faults(faults);
    const auto rules = child(root, "rules");
    if (rules && !rules.IsSequence())
      fault(rules, "rules", "must be a list");
    else if (rules)
      for (const auto& rule : rules)
        out.rules.push_back(read_rule(rule, "rules." + std::to_string(out.rules.size())));
    const auto default_answer = child(root, "default");
    if (default_answer && allow(default_answer, "default", {"text", "calls", "usage"}))
      out.default_answer = read_answer(default_answer, "default");
    if (!default_answer && (!rules || (rules.IsSequence() && rules.size() == 0)))
      fault(root, "", "the script has no rules and no default; add at least one rule or a default");
    return out;
  }

  /// Adds an error.
  /// @param key the dotted path of the key; empty for the whole file
  void fault(const YAML::Mark& at, const std::string& key, const std::string& what) {
    faults_.push_back({at.line, key.empty() ? what : key + ": " + what});
  }

  /// Returns all errors, one per line and sorted by the line of the file.
  [[nodiscard]] std::string faults() {
    std::stable_sort(faults_.begin(), faults_.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    auto out = std::string{};
    for (const auto& one : faults_)
      out +=
          (out.empty() ? "" : "\n") + name_ + ':' + std::to_string(one.line + 1) + ": " + one.text;
    return out;
  }

private:
  struct script_fault {
    int line = 0; // from 0
    std::string text;
  };

  void fault(const YAML::Node& at, const std::string& key, const std::string& what) {
    fault(at.Mark(), key, what);
  }

  static std::string path_of(const std::string& parent, const std::string& key) {
    return parent.empty() ? key : parent + '.' + key;
  }

  /// Returns the child with this name; an undefined node if `of` is not a map or has no such child.
  /// yaml-cpp would throw if `of` is not a map.
  static YAML::Node child(const YAML::Node& of, const char* name) {
    return of.IsMap() ? of[name] : YAML::Node{YAML::NodeType::Undefined};
  }

  /// Adds errors for unknown and duplicate keys. If the node is not a map, adds an error and
  /// returns false.
  bool allow(const YAML::Node& map, const std::string& where,
             std::initializer_list<std::string_view> keys) {
    if (!map.IsMap()) {
      fault(map, where, "must be a mapping; known keys: " + list(keys));
      return false;
    }
    auto seen = std::vector<std::string>{};
    for (const auto& entry : map) {
      const auto key = entry.first.IsScalar() ? entry.first.Scalar() : std::string{"?"};
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        fault(entry.first, path_of(where, key), "is not a known key; known keys: " + list(keys));
      else if (std::find(seen.begin(), seen.end(), key) != seen.end())
        fault(entry.first, path_of(where, key), "is a duplicate key");
      seen.push_back(key);
    }
    return true;
  }

  static std::string list(std::initializer_list<std::string_view> keys) {
    auto out = std::string{};
    for (const auto key : keys)
      out += (out.empty() ? "" : ", ") + std::string{key};
    return out;
  }

  template <class Number>
  Number number_in(const YAML::Node& node, const std::string& key, Number low, Number high) {
    // The comparisons are negated, because NaN must fail them. A minus sign is checked separately,
    // because yaml-cpp converts negative numbers to large unsigned ones.
    auto out = Number{};
    if (!node.IsScalar() || !YAML::convert<Number>::decode(node, out) ||
        (std::is_unsigned_v<Number> && node.Scalar().starts_with('-')) || !(out >= low) ||
        !(out <= high)) {
      const auto* const kind = std::is_integral_v<Number> ? "integer" : "number";
      fault(node, key,
            high == Number{1} ? std::string{"must be a number from 0 to 1"}
                              : std::string{"must be a non-negative "} + kind);
      return low;
    }
    return out;
  }
  template <class Number>
  Number number(const YAML::Node& of, const std::string& where, const char* name,
                Number default_value) {
    const auto node = child(of, name);
    return node ? number_in<Number>(node, path_of(where, name), Number{},
                                    std::numeric_limits<Number>::max())
                : default_value;
  }

  /// Reads a text. Adds an error and returns nullopt for another value.
  std::optional<std::string> text(const YAML::Node& node, const std::string& key) {
    if (node.IsScalar())
      return node.Scalar();
    fault(node, key, "must be a string");
    return std::nullopt;
  }

  /// Reads a latency: a fixed time (a number) or a distribution (a map).
  script_latency read_latency(const YAML::Node& node) {
    auto out = script_latency{};
    constexpr auto most = std::numeric_limits<double>::max();
    if (!node.IsMap()) {
      out.low_ms = number_in<double>(node, "latency_ms", 0, most);
      return out;
    }
    allow(node, "latency_ms", {"uniform", "lognormal"});
    if (node.size() != 1)
      fault(node, "latency_ms", "must contain either uniform or lognormal");
    if (const auto uniform = node["uniform"]) {
      out.kind = script_latency::shape::uniform;
      if (!uniform.IsSequence() || uniform.size() != 2) {
        fault(uniform, "latency_ms.uniform", "must be a list of two numbers, [shortest, longest]");
        return out;
      }
      const auto faults_before = faults_.size();
      out.low_ms = number_in<double>(uniform[0], "latency_ms.uniform.0", 0, most);
      out.high_ms = number_in<double>(uniform[1], "latency_ms.uniform.1", 0, most);
      if (out.high_ms < out.low_ms && faults_.size() == faults_before)
        fault(uniform, "latency_ms.uniform",
              "the second number must not be below the first (" + uniform[0].Scalar() + ", " +
                  uniform[1].Scalar() + ")");
    } else if (const auto lognormal = node["lognormal"]) {
      out.kind = script_latency::shape::lognormal;
      constexpr auto key = "latency_ms.lognormal";
      allow(lognormal, key, {"median", "sigma", "max"});
      out.low_ms = number(lognormal, key, "median", 0.0);
      out.sigma = number(lognormal, key, "sigma", 0.5);
      out.high_ms = number(lognormal, key, "max", out.low_ms * 100);
    }
    return out;
  }

  /// Reads the probability of each kind of fault, in the order in which the model tries them.
  std::vector<std::pair<model_errc, double>> read_faults(const YAML::Node& node) {
    allow(node, "faults",
          {"bad_request", "unauthorized", "not_found", "rate_limited", "quota_exhausted",
           "server_error", "unreachable", "timed_out", "bad_answer", "missing_turn"});
    auto out = std::vector<std::pair<model_errc, double>>{};
    auto sum = 0.0;
    const auto add = [&](const char* name, model_errc kind) {
      if (const auto rate = child(node, name)) {
        out.emplace_back(kind, number_in<double>(rate, path_of("faults", name), 0, 1));
        sum += out.back().second;
      }
    };
    add("bad_request", model_errc::bad_request);
    add("unauthorized", model_errc::unauthorized);
    add("not_found", model_errc::not_found);
    add("rate_limited", model_errc::rate_limited);
    add("quota_exhausted", model_errc::quota_exhausted);
    add("server_error", model_errc::server_error);
    add("unreachable", model_errc::unreachable);
    add("timed_out", model_errc::timed_out);
    add("bad_answer", model_errc::bad_answer);
    add("missing_turn", model_errc::missing_turn);
    if (sum > 1)
      fault(node, "faults", "the probabilities add up to more than 1");
    return out;
  }

  script_rule read_rule(const YAML::Node& node, const std::string& key) {
    auto out = script_rule{};
    if (!allow(node, key, {"type", "turn", "tool", "match", "text", "calls", "usage"}))
      return out;
    if (const auto type = child(node, "type"))
      out.type = read_type(type, key + ".type");
    if (child(node, "turn"))
      out.turn = number<std::uint32_t>(node, key, "turn", 0);
    if (const auto tool = child(node, "tool"))
      out.tool = text(tool, key + ".tool").value_or("");
    if (const auto match = child(node, "match"))
      out.match = read_pattern(match, key + ".match");
    out.answer = read_answer(node, key);
    return out;
  }

  message_type read_type(const YAML::Node& node, const std::string& key) {
    const auto name = text(node, key).value_or("human");
    if (name == "ai")
      return message_type::ai;
    if (name == "system")
      return message_type::system;
    if (name == "tool")
      return message_type::tool;
    if (name != "human")
      fault(node, key, '\'' + name + "' is not one of: human, ai, system, tool");
    return message_type::human;
  }

  /// Compiles a pattern. This happens once, when the script is loaded.
  std::shared_ptr<const re2::RE2> read_pattern(const YAML::Node& node, const std::string& key) {
    auto pattern = std::make_shared<const re2::RE2>(text(node, key).value_or(""), re2::RE2::Quiet);
    if (!pattern->ok())
      fault(node, key, "is not a valid RE2 pattern: " + pattern->error());
    return pattern;
  }

  /// Reads the members that a rule and the default answer have in common.
  script_answer read_answer(const YAML::Node& node, const std::string& key) {
    auto out = script_answer{};
    const auto content = child(node, "text");
    const auto calls = child(node, "calls");
    if (content)
      out.text = text(content, key + ".text").value_or("");
    if (!content && !calls)
      fault(node, key, "needs text, calls or both");
    if (calls && !calls.IsSequence())
      fault(calls, key + ".calls", "must be a list");
    else if (calls)
      for (const auto& call : calls)
        out.calls.push_back(read_call(call, key + ".calls." + std::to_string(out.calls.size())));
    if (const auto usage = child(node, "usage")) {
      const auto usage_key = key + ".usage";
      allow(usage, usage_key, {"input_tokens", "output_tokens"});
      auto tokens = token_usage{};
      tokens.input_tokens = number<std::int64_t>(usage, usage_key, "input_tokens", 0);
      tokens.output_tokens = number<std::int64_t>(usage, usage_key, "output_tokens", 0);
      tokens.total_tokens = tokens.input_tokens + tokens.output_tokens;
      out.usage = std::move(tokens);
    }
    return out;
  }

  script_call read_call(const YAML::Node& node, const std::string& key) {
    auto out = script_call{};
    if (!allow(node, key, {"name", "for_each", "args"}))
      return out;
    const auto name = child(node, "name");
    const auto tool = name ? text(name, key + ".name") : std::string{};
    if (tool && tool->empty())
      fault(name ? name : node, key + ".name", "must be the name of a tool");
    out.name = tool.value_or("");
    if (const auto pattern = child(node, "for_each"))
      out.for_each = read_pattern(pattern, key + ".for_each");
    if (const auto args = child(node, "args")) {
      if (args.IsMap())
        out.args = std::get<script_map>(read_value(args, key + ".args", 0).of);
      else
        fault(args, key + ".args", "must be a mapping from argument names to values");
    }
    return out;
  }

  /// Reads a value without converting its texts to numbers: captures must be substituted first.
  script_value read_value(const YAML::Node& node, const std::string& key, int depth) {
    auto out = script_value{};
    if (depth > depth_max) {
      fault(node, key, "is nested deeper than " + std::to_string(depth_max) + " levels");
    } else if (node.IsMap()) {
      auto& map = out.of.emplace<script_map>();
      for (const auto& entry : node)
        if (auto name = text(entry.first, key))
          map.push_back(
              script_entry{*name, read_value(entry.second, path_of(key, *name), depth + 1)});
    } else if (node.IsSequence()) {
      auto& items = out.of.emplace<script_list>();
      for (const auto& item : node)
        items.push_back(read_value(item, path_of(key, std::to_string(items.size())), depth + 1));
    } else if (node.IsScalar()) {
      // "!" is yaml-cpp's tag of a quoted text.
      out.of = script_text{node.Scalar(), node.Tag() == "!"};
    }
    return out;
  }

  std::string name_;
  std::vector<script_fault> faults_;
};

} // namespace

result<script> read_script(const std::string& text, const std::string& name) {
  if (const auto fault = find_yaml_encoding_fault(text))
    return error{model_errc::bad_configuration,
                 name + ':' + std::to_string(fault->line) + ": " + fault->text};
  auto from = reader{name};
  auto out = script{};
  try {
    out = from.read(YAML::Load(text));
  } catch (const YAML::Exception& e) { // syntax errors
    from.fault(e.mark, "", "is not valid YAML: " + yaml_error_text(e));
  }
  if (auto faults = from.faults(); !faults.empty())
    return error{model_errc::bad_configuration, std::move(faults)};
  return out;
}

} // namespace superstep::models
