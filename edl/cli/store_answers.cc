#include "edl/cli/store_answers.h"

#include "edl/base/base64.h"
#include "edl/base/text.h"

namespace edl::cli {
namespace {

// How many bytes the character has that begins with this one; 0: none does.
std::size_t character_bytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

// Shortest forms only, no surrogates, nothing above U+10FFFF: the second byte tells.
bool second_fits(unsigned char first, unsigned char second) {
  if (first == 0xe0) return second >= 0xa0;
  if (first == 0xed) return second < 0xa0;
  if (first == 0xf0) return second >= 0x90;
  if (first == 0xf4) return second < 0x90;
  return true;
}

bool is_utf8(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = character_bytes(at(i));
    if (length == 0 || i + length > bytes.size()) return false;
    for (std::size_t j = i + 1; j < i + length; ++j) {
      if ((at(j) & 0xc0) != 0x80) return false;
    }
    if (length > 2 && !second_fits(at(i), at(i + 1))) return false;
    i += length;
  }
  return true;
}

Object kv_list(const std::vector<store::KeyValue>& kvs) {
  Object list = Object::array();
  for (const store::KeyValue& kv : kvs) list.push_back(kv_object(kv));
  return list;
}

// One operation of a transaction, by the name that it was asked for with.
struct ResponseObject {
  Object operator()(const store::NoOp&) const { return Object::object(); }
  Object operator()(const store::RangeResponse& range) const {
    return {{"get", {{"kvs", kv_list(range.kvs)}, {"more", range.more}, {"count", range.count}}}};
  }
  Object operator()(const store::PutResponse& put) const {
    Object answer = Object::object();
    if (put.prev_kv) answer["prev"] = kv_object(*put.prev_kv);
    return {{"put", answer}};
  }
  Object operator()(const store::DeleteRangeResponse& deleted) const {
    Object answer{{"deleted", deleted.deleted}};
    if (!deleted.prev_kvs.empty()) answer["prev"] = kv_list(deleted.prev_kvs);
    return {{"delete", answer}};
  }
  Object operator()(const std::vector<store::TxnResponse>& inner) const {
    if (inner.empty()) return Object::object();
    Object answer = txn_object(inner.front());
    answer.erase("revision");  // the outer one's
    return {{"txn", answer}};
  }
};

struct ResponseText {
  std::string operator()(const store::NoOp&) const { return ""; }
  std::string operator()(const store::RangeResponse& range) const {
    std::string out = text("get ", range.count, "\n");
    for (const store::KeyValue& kv : range.kvs) out += kv_text(kv);
    return out;
  }
  std::string operator()(const store::PutResponse& put) const {
    return put.prev_kv ? text("put\n", kv_text(*put.prev_kv)) : "put\n";
  }
  std::string operator()(const store::DeleteRangeResponse& deleted) const {
    std::string out = text("delete ", deleted.deleted, "\n");
    for (const store::KeyValue& kv : deleted.prev_kvs) out += kv_text(kv);
    return out;
  }
  std::string operator()(const std::vector<store::TxnResponse>& inner) const {
    return inner.empty() ? "" : text("txn ", txn_text(inner.front()));
  }
};

}  // namespace

void add_bytes(Object& into, const std::string& name, std::string_view bytes) {
  if (is_utf8(bytes)) {
    into[name] = std::string(bytes);
  } else {
    into[name + "_base64"] = base64(bytes);
  }
}

Object kv_object(const store::KeyValue& kv, Values values) {
  Object object = Object::object();
  add_bytes(object, "key", kv.key);
  if (values == Values::kWith) add_bytes(object, "value", kv.value);
  object["create_revision"] = kv.create_revision;
  object["mod_revision"] = kv.mod_revision;
  object["version"] = kv.version;
  object["lease"] = kv.lease;
  return object;
}

Object put_object(const store::PutResponse& response, bool with_previous) {
  Object object{{"revision", response.header->revision}};
  if (!with_previous) return object;
  object["prev"] = response.prev_kv ? kv_object(*response.prev_kv) : Object(nullptr);
  return object;
}

Object delete_object(const store::DeleteRangeResponse& response, bool with_previous) {
  Object object{{"deleted", response.deleted}, {"revision", response.header->revision}};
  if (with_previous) object["prev"] = kv_list(response.prev_kvs);
  return object;
}

Object txn_object(const store::TxnResponse& response) {
  Object object{{"succeeded", response.succeeded}};
  object["revision"] = response.header ? response.header->revision : 0;
  object["responses"] = Object::array();
  for (const store::ResponseOp& one : response.responses) {
    object["responses"].push_back(std::visit(ResponseObject{}, one.response));
  }
  return object;
}

std::string in_quotes(std::string_view bytes) {
  return Object(std::string(bytes)).dump(-1, ' ', false, Object::error_handler_t::replace);
}

std::string object_line(const Object& object) {
  return object.dump(-1, ' ', false, Object::error_handler_t::replace) + "\n";
}

std::string kv_text(const store::KeyValue& kv) { return text(kv.key, "\n", kv.value, "\n"); }

std::string txn_text(const store::TxnResponse& response) {
  std::string out = response.succeeded ? "success\n" : "failure\n";
  for (const store::ResponseOp& one : response.responses) {
    out += std::visit(ResponseText{}, one.response);
  }
  return out;
}

}  // namespace edl::cli
