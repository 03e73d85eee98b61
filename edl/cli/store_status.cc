// `edl store status`.
#include "edl/cli/store_answers.h"
#include "edl/cli/store_client.h"
#include "edl/cli/store_commands.h"
#include "edl/store/codec.h"
#include "edl/store/json_scanner.h"
#include "edl/store/status.h"

namespace edl::cli {
namespace {

using Status = Result<store::StatusResponse>;

Status read_status(const Result<http::Response>& answer) {
  if (!answer.ok()) return answer.error();
  if (answer->status != 200) return store::refusal_error(*answer);
  EDL_TRY(const std::string_view json, store::first_json_value(answer->body));
  EDL_TRY(store::StatusResponse status,
          store::read_message<store::StatusResponse>(store::RawJson(json)));
  if (!status.header) return Error{Code::kCorrupt, "what answers there is not a store"};
  return status;
}

Object status_object(const std::string& endpoint, const Status& status) {
  Object object{{"endpoint", endpoint}, {"reachable", status.ok()}};
  if (!status.ok()) {
    object["reason"] = status.error().message;
    return object;
  }
  object["version"] = status->version;
  object["revision"] = status->header->revision;
  object["cluster_id"] = status->header->cluster_id;
  object["member_id"] = status->header->member_id;
  object["leader"] = status->leader;
  object["db_size"] = status->db_size;
  object["errors"] = status->errors;
  return object;
}

std::string status_text(const std::string& endpoint, const Status& status) {
  if (!status.ok()) return text(endpoint, ": not reachable: ", status.error().message, "\n");
  const bool leads = status->leader == status->header->member_id;
  std::string role = leads ? "leads" : text("follows ", status->leader);
  if (status->leader == 0) role = "has no leader";
  std::string out = text(endpoint, ": version ", status->version, ", revision ",
                         status->header->revision, ", ", role, ", ", status->db_size, " bytes");
  for (const std::string& error : status->errors) out += text(", ", error);
  return out + "\n";
}

// Every endpoint is asked once, all at the same time.
class StoreStatus final : public StoreCommand {
 public:
  explicit StoreStatus(CLI::App& app) : StoreCommand(app) {}

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    const auto& endpoints = store.endpoints();
    std::vector<std::optional<Status>> found(endpoints.size());
    std::vector<os::Pending> asked;
    std::size_t waiting = endpoints.size();
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      asked.push_back(store.client().http().send(
          endpoints[i], store.client().request("/v3/maintenance/status", "{}"), store.timeout(),
          [&, i](const Result<http::Response>& answer) {
            found[i] = read_status(answer);
            if (--waiting == 0) store.end({});
          }));
    }
    EDL_TRY(store.run());
    return write(endpoints, found, out);
  }

  Result<void> write(const std::vector<http::Url>& endpoints,
                     const std::vector<std::optional<Status>>& found, Output& out) const {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      const std::string url = http::url_text(endpoints[i]);
      out.add(json() ? object_line(status_object(url, *found[i])) : status_text(url, *found[i]));
      if (!found[i]->ok()) missing.push_back(url);
    }
    if (missing.empty()) return {};
    return Error{Code::kUnavailable,
                 text("no status from ", list_text(missing), ", ", missing.size(), " of ",
                      endpoints.size(), " endpoints: the answer says why.")};
  }
};

}  // namespace

void add_store_status(CommandLine& line, CLI::App& store) {
  line.add<StoreStatus>(store,
                        {"status", "Tell how each endpoint of the store is.",
                         "edl store status\n"
                         "  edl store status --endpoint=http://10.0.0.1:2379,http://10.0.0.2:2379 "
                         "--json"});
}

}  // namespace edl::cli
