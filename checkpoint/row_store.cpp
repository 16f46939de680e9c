// SPDX-License-Identifier: Apache-2.0
// The long-term store in a database, in table `items`. It shares three files with memory_store.cpp:
// store_filter.cpp evaluates filters, store_index.cpp finds the texts to index, and
// store_labels.cpp checks namespaces.
#include "row_store.hpp"

#include "checkpoint_codec.hpp"
#include "exported_thread.hpp"
#include "store_labels.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>

namespace superstep::detail {

namespace {

/// Returns the labels of a namespace joined by zero bytes. No label contains a zero byte, so the
/// texts have the same order as the lists of labels.
std::string joined(const store_namespace& ns) {
  auto out = std::string{};
  for (const auto& label : ns) {
    if (!out.empty())
      out += '\0';
    out += label;
  }
  return out;
}

store_namespace split(std::string_view text) {
  auto out = store_namespace{};
  while (true) {
    const auto end = text.find('\0');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return out;
    text.remove_prefix(end + 1);
  }
}

using std::chrono::milliseconds;

std::int64_t in_ms(std::chrono::system_clock::time_point at) {
  return std::chrono::duration_cast<milliseconds>(at.time_since_epoch()).count();
}

static_assert(std::endian::native == std::endian::little,
              "vectors are stored in little-endian order");

/// Returns the stored form of vectors: their common length as a 32-bit number, then their floats.
std::string written(const vectors& all) {
  auto out = std::string{};
  if (all.empty())
    return out;
  const auto length = static_cast<std::uint32_t>(all.front().size());
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  for (const auto& v : all) {
    if (v.size() != length)
      throw std::invalid_argument{"the embedding returned vectors of different lengths (" +
                                  std::to_string(length) + " and " + std::to_string(v.size()) +
                                  " numbers); all must have the same length"};
    out.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float));
  }
  return out;
}

/// Reads vectors in the form that written() returns. Bytes at the end that do not form a complete
/// vector are ignored.
vectors read_vectors(std::string_view bytes) {
  auto out = vectors{};
  auto length = std::uint32_t{0};
  if (bytes.size() < sizeof length)
    return out;
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  const auto size = std::size_t{length} * sizeof(float);
  while (size > 0 && bytes.size() >= size) {
    std::memcpy(out.emplace_back(length).data(), bytes.data(), size);
    bytes.remove_prefix(size);
  }
  return out;
}

/// Returns the place of an item's value for its encryption; see row_place.
row_place item_place(std::string_view ns, std::string_view key) {
  return {"item", ns, key};
}

/// Returns the place of an item's vectors for their encryption. It differs from the place of the
/// value.
row_place vectors_place(std::string_view ns, std::string_view key) {
  return {"item", ns, key, "meaning"};
}

struct found_item {
  std::string ns;
  std::string key;
  json::object value;
  std::int64_t ttl = 0;
  std::int64_t until = 0;
  std::optional<double> score{};
};

/// Selects the columns in the order that row_store::read() expects. `until` is the expiry time in
/// milliseconds since 1970-01-01 UTC, or 0 for an item that does not expire. Parameter 4 is the
/// current time.
constexpr auto item_columns = "SELECT ns, key, value, ttl, until, meaning FROM @items ";
constexpr auto is_there = "(until = 0 OR until > ?4)";

} // namespace

/// One connection, protected by a mutex. Each call is a separate transaction.
class row_store::impl {
public:
  impl(std::unique_ptr<database> db, row_store_options given)
      : options_{std::move(given)}, db_{std::move(db)},
        get_{
            db_->prepare(std::string{item_columns} + "WHERE ns = ?1 AND key = ?2 AND " + is_there)},
        put_{db_->prepare(
            "INSERT INTO @items (ns, key, value, ttl, until, meaning) VALUES (?1, ?2, ?3, ?4, ?5, "
            "?6) ON CONFLICT (ns, key) DO UPDATE SET value = excluded.value, ttl = excluded.ttl, "
            "until = excluded.until, meaning = excluded.meaning")},
        erase_{db_->prepare("DELETE FROM @items WHERE ns = ?1 AND key = ?2")},
        renew_{db_->prepare("UPDATE @items SET until = ?3 WHERE ns = ?1 AND key = ?2 AND ttl = ?4 "
                            "AND until = ?5")},
        search_{db_->prepare(std::string{item_columns} +
                             "WHERE (ns = ?1 OR (ns >= ?2 AND ns < ?3)) AND " + is_there +
                             " ORDER BY ns, key")},
        all_{db_->prepare(std::string{item_columns} + "WHERE " + is_there + " ORDER BY ns, key")},
        namespaces_{db_->prepare(std::string{"SELECT DISTINCT ns FROM @items WHERE "} + is_there)},
        sweep_{db_->prepare("DELETE FROM @items WHERE until > 0 AND until <= ?1")} {}

  std::optional<json::object> get(const std::string& ns, std::string_view key) {
    const auto lock = std::scoped_lock{mutex_};
    auto found = std::optional<found_item>{};
    {
      auto s = statement_use{get_};
      s->bind_bytes(1, ns);
      s->bind_text(2, key);
      s->bind(4, now());
      if (!s->step())
        return std::nullopt;
      found = read(get_);
    }
    renew({&*found, 1});
    return std::move(found->value);
  }

  void put(const std::string& ns, std::string_view key, const json::object& value,
           const store_put_options& put) {
    const auto meaning =
        embed_item(options_.embed, options_.fields, value, put); // may be slow, so without the lock
    const auto ttl = put.ttl.value_or(usual_ttl()).count();
    const auto row = db_->cipher().seal(to_text(value), item_place(ns, key));
    const auto found = db_->cipher().seal(written(meaning), vectors_place(ns, key));
    const auto lock = std::scoped_lock{mutex_};
    auto s = statement_use{put_};
    s->bind_bytes(1, ns);
    s->bind_text(2, key);
    if (db_->has_texts_in_byte_columns() && !db_->cipher().is_on())
      s->bind_text(3, row);
    else
      s->bind_bytes(3, row);
    s->bind(4, ttl);
    s->bind(5, ttl > 0 ? add_saturated(now(), ttl) : 0);
    if (meaning.empty())
      s->bind_null(6);
    else
      s->bind_bytes(6, found);
    (void)s->step();
  }

  [[nodiscard]] milliseconds usual_ttl() const noexcept {
    return options_.ttl.value_or(milliseconds{0});
  }

  void erase(const std::string& ns, std::string_view key) {
    const auto lock = std::scoped_lock{mutex_};
    erase_.bind_bytes(1, ns);
    erase_.bind_text(2, key);
    erase_.run();
  }

  std::vector<found_item> search(const store_query& query) {
    const auto is_semantic = options_.embed && !query.text.empty();
    auto wanted = std::vector<float>{};
    if (is_semantic)
      wanted = embedded(options_.embed, {query.text}).front();
    const auto lock = std::scoped_lock{mutex_};
    auto found = matching(query, is_semantic ? &wanted : nullptr);
    if (is_semantic)
      found = nearest(std::move(found), query);
    renew(found);
    return found;
  }

  std::vector<store_namespace> namespaces() {
    auto out = std::vector<store_namespace>{};
    const auto lock = std::scoped_lock{mutex_};
    auto s = statement_use{namespaces_};
    s->bind(4, now());
    while (s->step())
      out.push_back(split(s->bytes(0)));
    return out;
  }

  std::size_t sweep() {
    const auto lock = std::scoped_lock{mutex_};
    sweep_.bind(1, now());
    sweep_.run();
    return static_cast<std::size_t>(db_->changes());
  }

private:
  [[nodiscard]] std::int64_t now() const { return in_ms(options_.time->now()); }

  [[nodiscard]] std::string opened(std::string_view bytes, const found_item& of,
                                   const row_place& place) const {
    auto text = db_->cipher().open(bytes, place);
    if (!text)
      throw damaged(of, text.error().text);
    return std::move(*text);
  }

  [[nodiscard]] checkpoint_error damaged(const found_item& of, const std::string& why) const {
    return {
        make_error_code(checkpoint_errc::corrupt),
        "item '" + of.key + "' in " + shown(split(of.ns)) + " of the store in '" + db_->name() +
            "' is damaged (" + why +
            "): put it again, or erase it; nothing was overwritten, and other items can be read"};
  }

  [[nodiscard]] found_item read(const statement& s) const {
    auto out =
        found_item{std::string{s.bytes(0)}, std::string{s.text(1)}, {}, s.number(3), s.number(4)};
    const auto text = opened(s.bytes(2), out, item_place(out.ns, out.key));
    auto parsed = parse_json(text, {row_bytes_max, read_depth_max});
    if (!parsed || !parsed->is_object())
      throw damaged(out, parsed ? "it is not a JSON object" : parsed.error().text);
    out.value = std::move(parsed->get_object());
    return out;
  }

  /// Returns matching items, sorted by namespace and key. Without a text to compare with, these are
  /// only the items of the query's page. With a text, all matches are returned, because the page is
  /// known only after they are ranked.
  /// @param wanted vector of the query's text, with which items are scored; may be null
  std::vector<found_item> matching(const store_query& query, const std::vector<float>* wanted) {
    auto out = std::vector<found_item>{};
    const auto prefix = joined(query.prefix);
    // The text of each namespace below `prefix` starts with the prefix and a zero byte. These texts
    // are a range of the index.
    const auto from = prefix + '\0';
    const auto to = prefix + '\1';
    auto& reading = query.prefix.empty() ? all_ : search_;
    auto s = statement_use{reading};
    s->bind(4, now());
    if (!query.prefix.empty()) {
      s->bind_bytes(1, prefix);
      s->bind_bytes(2, from);
      s->bind_bytes(3, to);
    }
    // SQL cannot express the comparisons of matches(), so filters are evaluated here.
    for (auto skipped = std::size_t{0}; (wanted || out.size() < query.limit) && s->step();) {
      auto item = read(reading);
      if (!matches(query.filter, item.value, non_number::skip))
        continue;
      if (wanted != nullptr && !s->is_null(5))
        item.score =
            score(*wanted,
                  read_vectors(opened(s->bytes(5), item, vectors_place(item.ns, item.key))), item);
      if (wanted != nullptr || skipped++ >= query.offset)
        out.push_back(std::move(item));
    }
    return out;
  }

  /// Returns the similarity of an item. Throws if the item's vectors have another length, because
  /// another embedding made them.
  static std::optional<double> score(const std::vector<float>& wanted, const vectors& meaning,
                                     const found_item& of) {
    if (!meaning.empty() && meaning.front().size() != wanted.size())
      throw std::invalid_argument{
          "the embedding returns vectors of " + std::to_string(wanted.size()) +
          " numbers, but item '" + of.key + "' was indexed with vectors of " +
          std::to_string(meaning.front().size()) +
          ": put the items again, or use the embedding that they were put with"};
    return score_of(wanted, meaning);
  }

  /// Restarts the lifetime of items that were read, if the options say so. A new expiry time is
  /// written only if it is later by at least 1/20 of the lifetime. Otherwise almost every read
  /// would cause a write. An item that was put again since it was read keeps its new lifetime.
  /// Failures are ignored: the items were read, and a later read restarts their lifetime.
  void renew(std::span<const found_item> items) {
    constexpr auto parts = 20;
    const auto at = now();
    const auto is_due = [&](const found_item& i) {
      const auto end = add_saturated(at, i.ttl);
      return options_.renew_on_read && i.ttl > 0 && end > i.until && end - i.until >= i.ttl / parts;
    };
    if (std::ranges::none_of(items, is_due))
      return;
    try {
      if (!db_->try_begin_write())
        return;
      for (const auto& i : items) {
        if (!is_due(i))
          continue;
        renew_.bind_bytes(1, i.ns);
        renew_.bind_text(2, i.key);
        renew_.bind(3, add_saturated(at, i.ttl));
        renew_.bind(4, i.ttl);
        renew_.bind(5, i.until);
        renew_.run();
      }
      db_->commit();
    } catch (const checkpoint_error&) {
      db_->roll_back();
    }
  }

  const row_store_options options_;
  std::mutex mutex_;
  std::unique_ptr<database> db_;
  statement get_;
  statement put_;
  statement erase_;
  statement renew_;
  statement search_;
  statement all_;
  statement namespaces_;
  statement sweep_;
};

row_store::row_store(std::unique_ptr<database> db, row_store_options options)
    : impl_{std::make_unique<impl>(std::move(db), std::move(options))} {}

row_store::~row_store() = default;

std::optional<json::object> row_store::get(const store_namespace& ns, std::string_view key) {
  check_labels(ns);
  return impl_->get(joined(ns), key);
}

void row_store::put(const store_namespace& ns, std::string_view key, json::object value,
                    const store_put_options& options) {
  check_writable(ns);
  check_item(ns, key, value, options.ttl.value_or(impl_->usual_ttl()));
  impl_->put(joined(ns), key, value, options);
}

void row_store::erase(const store_namespace& ns, std::string_view key) {
  check_labels(ns);
  impl_->erase(joined(ns), key);
}

std::vector<store_item> row_store::search(const store_query& query) {
  check_labels(query.prefix);
  auto out = std::vector<store_item>{};
  for (auto& item : impl_->search(query))
    out.push_back({split(item.ns), std::move(item.key), std::move(item.value), item.score});
  return out;
}

std::size_t row_store::sweep() {
  return impl_->sweep();
}

std::vector<store_namespace> row_store::list(const namespace_query& query) {
  return select_namespaces(impl_->namespaces(), query);
}

} // namespace superstep::detail
