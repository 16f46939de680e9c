// SPDX-License-Identifier: Apache-2.0
// Decodes MessagePack as LangGraph writes it. Debian's libraries for MessagePack cannot be used:
// that for C++ conflicts with the version of Boost that superstep needs, and that of nlohmann-json
// rejects dictionaries with keys that are not texts, which LangGraph writes.
#include "cli/langgraph_value.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace superstep::cli {
namespace {

// The extensions of LangGraph's serializer. Each contains MessagePack: an array that starts with
// the module and the name of a Python class, followed by what its constructor or a method needs.
constexpr auto constructed_from_value = 0;
constexpr auto constructed_from_list = 1;
constexpr auto constructed_from_fields = 2;
constexpr auto made_by_method = 3;
constexpr auto pydantic_v1 = 4;
constexpr auto pydantic_v2 = 5;
// The value of a DeltaChannel, without a class.
constexpr auto delta_snapshot = 7;

constexpr auto depth_max = 150; // parse_json() allows 200 levels, and messages add some

json::object placeholder(std::string_view module, std::string_view name) {
  return {{"lc", 1}, {"type", "not_implemented"}, {"id", json::array{module, name}}};
}

/// Returns the text of a dictionary's key, in the form that Python's json gives it.
std::string key_text(const json::value& key) {
  if (const auto* text = key.if_string())
    return std::string{*text};
  return to_text(key);
}

/// An object of a Python class, as the serializer stores it.
struct python_object {
  std::string module;
  std::string name;
  json::value content; ///< argument, arguments or fields
};

/// Reads one MessagePack value after the other.
class msgpack_reader {
public:
  explicit msgpack_reader(std::string_view bytes, int depth = 0) : rest_{bytes}, depth_{depth} {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  json::value value() {
    const auto tag = static_cast<std::uint8_t>(take(1).front());
    if (tag <= 0x7fU)
      return std::int64_t{tag};
    if (tag <= 0x8fU)
      return object(tag & 0x0fU);
    if (tag <= 0x9fU)
      return array(tag & 0x0fU);
    if (tag <= 0xbfU)
      return text(tag & 0x1fU);
    if (tag >= 0xe0U)
      return std::int64_t{static_cast<std::int8_t>(tag)};
    return tagged(tag);
  }

private:
  json::value tagged(std::uint8_t tag) {
    switch (tag) {
    case 0xc0:
      return nullptr;
    case 0xc2:
      return false;
    case 0xc3:
      return true;
    case 0xc4:
      return bytes(number<std::uint8_t>());
    case 0xc5:
      return bytes(number<std::uint16_t>());
    case 0xc6:
      return bytes(number<std::uint32_t>());
    case 0xc7:
      return extension(number<std::uint8_t>());
    case 0xc8:
      return extension(number<std::uint16_t>());
    case 0xc9:
      return extension(number<std::uint32_t>());
    case 0xca:
      return real(std::bit_cast<float>(number<std::uint32_t>()));
    case 0xcb:
      return real(std::bit_cast<double>(number<std::uint64_t>()));
    case 0xcc:
      return std::int64_t{number<std::uint8_t>()};
    case 0xcd:
      return std::int64_t{number<std::uint16_t>()};
    case 0xce:
      return std::int64_t{number<std::uint32_t>()};
    case 0xcf:
      return whole(number<std::uint64_t>());
    case 0xd0:
      return std::int64_t{static_cast<std::int8_t>(number<std::uint8_t>())};
    case 0xd1:
      return std::int64_t{static_cast<std::int16_t>(number<std::uint16_t>())};
    case 0xd2:
      return std::int64_t{static_cast<std::int32_t>(number<std::uint32_t>())};
    case 0xd3:
      return static_cast<std::int64_t>(number<std::uint64_t>());
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return extension(std::size_t{1} << (tag - 0xd4U));
    case 0xd9:
      return text(number<std::uint8_t>());
    case 0xda:
      return text(number<std::uint16_t>());
    case 0xdb:
      return text(number<std::uint32_t>());
    case 0xdc:
      return array(number<std::uint16_t>());
    case 0xdd:
      return array(number<std::uint32_t>());
    case 0xde:
      return object(number<std::uint16_t>());
    case 0xdf:
      return object(number<std::uint32_t>());
    default:
      throw std::runtime_error{"its bytes are not MessagePack"};
    }
  }

  std::string_view take(std::size_t n) {
    if (n > rest_.size())
      throw std::runtime_error{"its bytes are incomplete"};
    const auto out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }

  /// Reads a number in network byte order.
  template <std::unsigned_integral Number>
  Number number() {
    auto out = Number{0};
    for (const auto byte : take(sizeof(Number)))
      out = static_cast<Number>((std::uint64_t{out} << 8U) | static_cast<std::uint8_t>(byte));
    return out;
  }

  /// Returns an integer in the type that parsing its text would give.
  static json::value whole(std::uint64_t n) {
    if (std::in_range<std::int64_t>(n))
      return static_cast<std::int64_t>(n);
    return n;
  }

  static json::value real(double n) {
    return std::isfinite(n) ? json::value(n) : json::value(placeholder("builtins", "float"));
  }

  json::value text(std::size_t size) { return json::value(take(size)); }

  json::value bytes(std::size_t size) {
    take(size);
    return placeholder("builtins", "bytes");
  }

  /// Counts a level of nesting while it is read.
  class level {
  public:
    explicit level(int& depth) : depth_{depth} {
      if (++depth_ > depth_max)
        throw std::runtime_error{fmt::format("it is nested more than {} levels deep", depth_max)};
    }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    ~level() { --depth_; }

  private:
    int& depth_;
  };

  json::value array(std::size_t size) {
    const auto inside = level{depth_};
    auto out = json::array{};
    for (auto i = std::size_t{0}; i < size; ++i)
      out.push_back(value());
    return out;
  }

  json::value object(std::size_t size) {
    const auto inside = level{depth_};
    auto out = json::object{};
    for (auto i = std::size_t{0}; i < size; ++i) {
      auto key = key_text(value());
      auto held = value();
      if (!out.emplace(key, std::move(held)).second)
        throw std::runtime_error{fmt::format("a dictionary has two keys with the text '{}'", key)};
    }
    return out;
  }

  json::value extension(std::size_t size) {
    const auto code = static_cast<std::int8_t>(number<std::uint8_t>());
    const auto inside = level{depth_};
    const auto content = take(size);
    if (code == delta_snapshot)
      return msgpack_reader{content, depth_}.value();
    if (code < constructed_from_value || code > pydantic_v2)
      return placeholder("langgraph", fmt::format("extension {}", code)); // for example numpy
    auto made = msgpack_reader{content, depth_}.value();
    auto* parts = made.if_array();
    if (parts == nullptr || parts->size() < 3 || !(*parts)[0].is_string() ||
        !(*parts)[1].is_string())
      throw std::runtime_error{"an object of a Python class has an unknown form"};
    return from_object({std::string{(*parts)[0].get_string()},
                        std::string{(*parts)[1].get_string()}, std::move((*parts)[2])},
                       code);
  }

  static json::value from_object(python_object of, int code) {
    switch (code) {
    case constructed_from_value:
      return from_value(std::move(of));
    case constructed_from_list:
      return from_list(of);
    case made_by_method: // datetime.fromisoformat(text)
      return of.content.is_string() ? std::move(of.content) : placeholder(of.module, of.name);
    case constructed_from_fields:
    case pydantic_v1:
    case pydantic_v2:
      break;
    default:
      return placeholder(of.module, of.name);
    }
    if (!of.content.is_object())
      return placeholder(of.module, of.name);
    if (of.module.starts_with("langchain_core.messages"))
      return json::object{{"lc", 1},
                          {"type", "constructor"},
                          {"id", json::array{"langchain", "schema", "messages", of.name}},
                          {"kwargs", std::move(of.content)}};
    return std::move(of.content);
  }

  /// Converts an object whose constructor has one argument, for example UUID, Decimal, set, Enum.
  static json::value from_value(python_object of) {
    const auto* hex = of.content.if_string();
    if (of.module == "uuid" && of.name == "UUID" && hex != nullptr && hex->size() == 32) {
      const auto digits = std::string_view{*hex};
      return json::value(fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                                     digits.substr(12, 4), digits.substr(16, 4),
                                     digits.substr(20)));
    }
    // Secrets must not be copied to another database by accident.
    if (of.name == "SecretStr" || of.name == "SecretBytes")
      return placeholder(of.module, of.name);
    return std::move(of.content);
  }

  /// Converts an object whose constructor has several arguments.
  static json::value from_list(const python_object& of) {
    const auto* list = of.content.if_array();
    if (list == nullptr)
      return placeholder(of.module, of.name);
    if (of.module == "datetime" && of.name == "date" && list->size() == 3) {
      for (const auto& part : *list)
        if (!part.is_int64())
          throw std::runtime_error{"a date has a part that is not a whole number" +
                                   (part.is_double() ? ": " + to_text(part) : std::string{})};
      return json::value(fmt::format("{:04}-{:02}-{:02}", (*list)[0].get_int64(),
                                     (*list)[1].get_int64(), (*list)[2].get_int64()));
    }
    if (of.module.starts_with("pathlib")) {
      auto path = std::string{};
      for (const auto& part : *list)
        path += (path.empty() || path.ends_with('/') ? "" : "/") + key_text(part);
      return json::value(path);
    }
    return placeholder(of.module, of.name);
  }

  std::string_view rest_;
  int depth_;
};

} // namespace

json::value from_langgraph_value(std::string_view type, std::string_view bytes) {
  if (type == "null")
    return nullptr;
  if (type == "bytes" || type == "bytearray")
    return placeholder("builtins", type);
  if (type == "json") {
    auto parsed = parse_json(bytes);
    if (!parsed)
      throw std::runtime_error{parsed.error().text};
    return std::move(*parsed);
  }
  if (type.find('+') != std::string_view::npos) // `msgpack+aes`
    throw std::runtime_error{fmt::format("it is encrypted ('{}')", type)};
  if (type != "msgpack")
    throw std::runtime_error{fmt::format("its encoding '{}' is not supported", type)};
  auto reader = msgpack_reader{bytes};
  auto out = reader.value();
  if (!reader.at_end())
    throw std::runtime_error{"its bytes contain more than one value"};
  return out;
}

} // namespace superstep::cli
