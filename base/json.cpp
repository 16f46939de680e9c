// SPDX-License-Identifier: Apache-2.0
// Parses JSON with simdjson and writes it with a hand-written serializer. simdjson parses into its
// own tree, which is copied to boost::json::value. If it rejects a text, Boost.JSON parses the text
// a second time to find the location of the error.
#include "base/hex.hpp"
#include "base/malloc_arenas.hpp"
#include "base/padded_json.hpp"
#include "base/utf8.hpp"

#include <superstep/base/detail/assert.hpp>

#include <boost/container/small_vector.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <simdjson.h>

#if defined(__SSE2__)
#  include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// A handler for Boost.JSON's parser that locates an error. simdjson reports no offset, so a
/// rejected text is parsed again. The parser stops at the first error, and the number of bytes
/// consumed until then is the offset.
struct fault_finder {
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  using error_code = boost::system::error_code;

  bool fail(error_code& ec, std::string why) {
    reason = std::move(why);
    ec = json::error::exception;
    return false;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    keys.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    keys.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view s, std::size_t, error_code&) {
    key.append(s.data(), s.size());
    return true;
  }
  bool on_key(json::string_view s, std::size_t, error_code& ec) {
    // Keys are compared after their escapes are resolved, so that "a" and "\u0061" are duplicates.
    key.append(s.data(), s.size());
    if (!keys.back().insert(key).second)
      return fail(ec, "the key \"" + key + "\" appears twice in one object");
    key.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double d, json::string_view s, error_code& ec) {
    // on_double() gets a number without fraction or exponent only if it does not fit 64 bits.
    if (!std::isfinite(d) || s.find_first_of(".eE") == json::string_view::npos)
      return fail(ec, "a number is out of range");
    return true;
  }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

  std::vector<std::set<std::string>> keys;
  std::string key;
  std::string reason;
};

/// Returns the text around an offset. Control and non-ASCII characters are replaced, so that the
/// result fits on one line of a log.
std::string excerpt(std::string_view text, std::size_t at) {
  constexpr auto before = std::size_t{20};
  constexpr auto length = std::size_t{48};
  auto part = std::string{text.substr(at > before ? at - before : 0, length)};
  // The excerpt may start or end inside a UTF-8 sequence, and the text may not be UTF-8 at all.
  for (auto& c : part)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e)
      c = c == '\n' || c == '\t' || c == '\r' ? ' ' : '?';
  return part;
}

/// Returns the error for a rejected text. `reason` is simdjson's text, which is used if the second
/// pass finds no error.
error fault_of(std::string_view text, std::string reason, std::size_t depth_max) {
  if (const auto fault = find_encoding_fault(text))
    return {errc::parse_failed, "not valid JSON: the text " + fault->text};
  auto options = json::parse_options{};
  options.max_depth = depth_max;
  auto finder = json::basic_parser<fault_finder>{options};
  auto ec = boost::system::error_code{};
  auto offset = finder.write_some(false, text.data(), text.size(), ec);
  if (!finder.handler().reason.empty())
    reason = finder.handler().reason;
  else if (ec)
    reason = ec.message();
  else if (offset < text.size())
    reason = "unexpected text after the value";
  offset = std::min(offset, text.size());
  return {errc::parse_failed, "not valid JSON: " + reason + " at byte " + std::to_string(offset) +
                                  (text.empty() ? "" : ", near `" + excerpt(text, offset) + '`')};
}

/// Writes a double like Python's repr(), so that files can be compared with LangGraph's: plain
/// digits from 1e-4 up to 1e16, otherwise an exponent.
void append_double(std::string& out, double d) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  auto buffer = std::array<char, 64>{};
  const auto size = std::abs(d);
  const auto plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto [end, ec] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), d,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  SUPERSTEP_ASSERT(ec == std::errc{});
  const auto digits =
      std::string_view{buffer.data(), static_cast<std::size_t>(end - buffer.data())};
  out += digits;
  if (plain && digits.find('.') == std::string_view::npos)
    out += ".0";
}

template <class Int>
void append_integer(std::string& out, Int i) {
  auto buffer = std::array<char, 24>{};
  const auto [end, ec] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), i);
  SUPERSTEP_ASSERT(ec == std::errc{});
  out.append(buffer.data(), end);
}

/// The order of keys in objects: as stored, or sorted for canonical text.
struct key_order {
  bool sorted = false;
};

void write(std::string& out, const json::value& v, key_order order);

void write(std::string& out, const json::array& a, key_order order) {
  out += '[';
  for (auto i = std::size_t{0}; i < a.size(); ++i) {
    if (i != 0)
      out += ',';
    write(out, a[i], order);
  }
  out += ']';
}

void write(std::string& out, const json::object& o, key_order order) {
  auto members = std::vector<const json::key_value_pair*>{};
  if (order.sorted) {
    members.reserve(o.size());
    for (const auto& member : o)
      members.push_back(&member);
    // the order of UTF-8 bytes is the order of code points
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
  }
  out += '{';
  for (auto i = std::size_t{0}; i < o.size(); ++i) {
    const auto& member = order.sorted ? *members[i] : o.begin()[i];
    if (i != 0)
      out += ',';
    append_quoted(out, {member.key().data(), member.key().size()});
    out += ':';
    write(out, member.value(), order);
  }
  out += '}';
}

void write(std::string& out, const json::value& v, key_order order) {
  switch (v.kind()) {
  case json::kind::null:
    out += "null";
    return;
  case json::kind::bool_:
    out += v.get_bool() ? "true" : "false";
    return;
  case json::kind::int64:
    append_integer(out, v.get_int64());
    return;
  case json::kind::uint64:
    append_integer(out, v.get_uint64());
    return;
  case json::kind::double_:
    append_double(out, v.get_double());
    return;
  case json::kind::string:
    append_quoted(out, {v.get_string().data(), v.get_string().size()});
    return;
  case json::kind::array:
    write(out, v.get_array(), order);
    return;
  case json::kind::object:
    write(out, v.get_object(), order);
    return;
  }
}

constexpr auto word_bytes = sizeof(std::uint64_t);

/// Returns the number of bytes before the first of the next 8 bytes that needs an escape; 8 if none
/// does. Tests all 8 at once as one 64-bit word.
std::size_t plain_in_word(const char* bytes) noexcept {
  static_assert(std::endian::native == std::endian::little);
  constexpr auto ones = std::uint64_t{0x0101010101010101};
  constexpr auto highs = ones << 7U;
  auto word = std::uint64_t{};
  std::memcpy(&word, bytes, sizeof word);
  // `below` marks the bytes of a word that are less than n. A borrow may also mark bytes after the
  // first hit. Only the lowest mark is used, and it is always correct.
  const auto below = [](std::uint64_t w, std::uint64_t n) { return (w - ones * n) & ~w & highs; };
  const auto marks =
      below(word, 0x20) | below(word ^ (ones * '"'), 1) | below(word ^ (ones * '\\'), 1);
  return static_cast<std::size_t>(std::countr_zero(marks)) / 8; // without a mark: 64 / 8
}

#if defined(__SSE2__)
constexpr auto block_bytes = std::size_t{16};

/// Returns the number of bytes before the first of the next 16 bytes that needs an escape; 16 if
/// none does.
std::size_t plain_in_block(const char* bytes) noexcept {
  const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const auto is = [block](char c) { return _mm_cmpeq_epi8(block, _mm_set1_epi8(c)); };
  const auto is_control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
  const auto marks = _mm_or_si128(is_control, _mm_or_si128(is('"'), is('\\')));
  const auto mask = static_cast<unsigned>(_mm_movemask_epi8(marks)) | 1U << block_bytes;
  return static_cast<std::size_t>(std::countr_zero(mask));
}
#else
constexpr auto block_bytes = word_bytes;

std::size_t plain_in_block(const char* bytes) noexcept {
  return plain_in_word(bytes);
}
#endif

/// Whether a byte can be written without an escape. Bytes of multi-byte characters can.
bool is_plain(char c) noexcept {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

/// Returns the number of leading bytes that need no escape.
std::size_t plain_prefix(std::string_view text) noexcept {
  auto i = std::size_t{0};
  while (text.size() - i >= block_bytes) {
    const auto n = plain_in_block(text.data() + i);
    i += n;
    if (n < block_bytes)
      return i;
  }
  if (i == text.size())
    return i;
  // The last block overlaps the one before, which is plain.
  if (text.size() >= block_bytes) {
    const auto last = text.size() - block_bytes;
    return last + plain_in_block(text.data() + last);
  }
  if (text.size() >= word_bytes) { // most keys and ids: two words, which may overlap
    const auto n = plain_in_word(text.data());
    const auto last = text.size() - word_bytes;
    return n < word_bytes ? n : last + plain_in_word(text.data() + last);
  }
  while (i < text.size() && is_plain(text[i]))
    ++i;
  return i;
}

/// Appends the escape of a character: the short form of RFC 8259 if it exists, otherwise \u00XX.
void append_escaped(std::string& out, unsigned char c) {
  switch (c) {
  case '"':
    out += "\\\"";
    break;
  case '\\':
    out += "\\\\";
    break;
  case '\n':
    out += "\\n";
    break;
  case '\r':
    out += "\\r";
    break;
  case '\t':
    out += "\\t";
    break;
  case '\b':
    out += "\\b";
    break;
  case '\f':
    out += "\\f";
    break;
  default:
    out += "\\u00";
    append_hex(out, c);
  }
}

} // namespace

static_assert(json_padding >= simdjson::SIMDJSON_PADDING);

result<json::value> parse_json(std::string_view text, json_limits limits,
                               json::storage_ptr memory) {
  return parse_padded_json(text, 0, limits, std::move(memory));
}

// The parser's depth limit bounds the recursion of the two functions below.

bool to_value(const simdjson::dom::element& from, json::value& into) {
  using simdjson::dom::element_type;
  switch (from.type()) {
  case element_type::OBJECT: {
    const auto members = from.get_object().value_unsafe();
    auto& object = into.emplace_object();
    object.reserve(members.size());
    for (const auto [key, value] : members) {
      const auto [place, added] =
          object.emplace(json::string_view{key.data(), key.size()}, nullptr);
      if (!added || !to_value(value, place->value()))
        return false;
    }
    return true;
  }
  case element_type::ARRAY: {
    const auto items = from.get_array().value_unsafe();
    auto& array = into.emplace_array();
    array.reserve(items.size());
    for (const auto item : items)
      if (!to_value(item, array.emplace_back(nullptr)))
        return false;
    return true;
  }
  case element_type::STRING: {
    const auto text = from.get_string().value_unsafe();
    into.emplace_string().assign(text.data(), text.size());
    return true;
  }
  case element_type::INT64:
    into = from.get_int64().value_unsafe();
    return true;
  case element_type::UINT64:
    into = from.get_uint64().value_unsafe();
    return true;
  case element_type::DOUBLE:
    into = from.get_double().value_unsafe();
    return true;
  case element_type::BOOL:
    into = from.get_bool().value_unsafe();
    return true;
  case element_type::NULL_VALUE:
    into = nullptr;
    return true;
  }
  return false;
}

bool has_key_twice(const simdjson::dom::element& tree) {
  auto items = simdjson::dom::array{};
  if (tree.get(items) == simdjson::SUCCESS)
    return std::any_of(items.begin(), items.end(), has_key_twice);
  auto members = simdjson::dom::object{};
  if (tree.get(members) != simdjson::SUCCESS)
    return false;
  auto keys = boost::container::small_vector<std::string_view, 16>{};
  for (const auto [key, value] : members) {
    if ((value.is_object() || value.is_array()) && has_key_twice(value))
      return true;
    keys.push_back(key);
  }
  constexpr auto few_keys = std::size_t{8}; // for which comparing all pairs is faster than sorting
  if (keys.size() > few_keys) {
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
  }
  for (auto at = keys.begin(); at != keys.end(); ++at)
    if (std::find(keys.begin(), at, *at) != at)
      return true;
  return false;
}

error json_fault(std::string_view text, json_limits limits) {
  return fault_of(text, "unknown error", limits.depth_max);
}

result<simdjson::dom::element> tree_parser::parse(std::string_view text, std::size_t spare,
                                                  json_limits limits) {
  // the pointer of an empty view may be null, which memcpy does not accept
  if (text.data() == nullptr)
    text = "";
  // The size is checked before anything is allocated.
  if (text.size() > limits.bytes_max)
    return error{errc::too_large, "JSON text of " + std::to_string(text.size()) +
                                      " bytes exceeds the limit of " +
                                      std::to_string(limits.bytes_max) + " bytes"};
  if (parser_.max_depth() != limits.depth_max || text.size() > parser_.capacity())
    if (const auto failed =
            parser_.allocate(std::max(text.size(), std::size_t{4096}), limits.depth_max)) {
      if (failed == simdjson::MEMALLOC)
        // like other allocations: lack of memory is not an error of the text
        throw std::bad_alloc{};
      return error{errc::too_large, "JSON text of " + std::to_string(text.size()) +
                                        " bytes is too large for the parser"};
    }
  prefer_huge_pages(parser_.doc.string_buf.get(), text.size());
  auto root = simdjson::dom::element{};
  const auto code = parser_.parse(text.data(), text.size(), spare < json_padding).get(root);
  if (code == simdjson::SUCCESS)
    return root;
  trim();
  if (code == simdjson::MEMALLOC)
    throw std::bad_alloc{};
  return fault_of(text, simdjson::error_message(code), limits.depth_max);
}

void tree_parser::trim() {
  constexpr auto kept_max = std::size_t{1} << 20;
  if (parser_.capacity() > kept_max)
    parser_ = simdjson::dom::parser{};
}

result<json::value> parse_padded_json(std::string_view text, std::size_t spare, json_limits limits,
                                      json::storage_ptr memory) {
  // Each thread reuses its parser to save two allocations per call.
  thread_local auto parser = tree_parser{};
  const auto root = parser.parse(text, spare, limits);
  auto value = json::value(std::move(memory));
  const auto is_copied = root && to_value(*root, value);
  parser.trim();
  if (is_copied)
    return value;
  return root ? json_fault(text, limits) : root.error();
}

void append_quoted(std::string& out, std::string_view text) {
  out.reserve(out.size() + text.size() + 2);
  out += '"';
  for (;;) {
    const auto n = plain_prefix(text);
    out += text.substr(0, n);
    if (n == text.size())
      break;
    append_escaped(out, static_cast<unsigned char>(text[n]));
    text.remove_prefix(n + 1);
  }
  out += '"';
}

void append_text(std::string& out, const json::value& v) {
  write(out, v, {});
}
void append_text(std::string& out, const json::object& o) {
  write(out, o, {});
}
void append_text(std::string& out, const json::array& a) {
  write(out, a, {});
}

std::string to_text(const json::value& v) {
  auto out = std::string{};
  append_text(out, v);
  return out;
}

std::string to_text(const json::object& o) {
  auto out = std::string{};
  append_text(out, o);
  return out;
}

std::string to_canonical_text(const json::value& v) {
  auto out = std::string{};
  write(out, v, {.sorted = true});
  return out;
}

} // namespace superstep
